import { Clipboard } from '@jupyterlab/apputils';
import * as React from 'react';

import type { Group, MemberSummary } from './api-types';
import { CellTab } from './celltab';
import { useNow } from './clock';
import { EventsTab } from './eventstab';
import { clock, count, duration, moment, secondsBetween } from './format';
import { GroupBar, GroupCounts, GroupFailures, GroupPlaces } from './groupparts';
import { groupCause, groupState, groupWord, memberWords, progress, roundsText, shareTotal } from './grouptext';
import { LivePanel } from './livepanel';
import { useLoaded } from './loadable';
import { Mark } from './marks';
import type { PoolModel } from './pool';
import { useSignal } from './signal';
import { TabStrip } from './tabstrip';
import { where } from './tasktext';
import { stateSign } from './vocabulary';

const TABS = { members: 'Members', cell: 'Cell', events: 'Events' } as const;
type TabName = keyof typeof TABS;
/** Rows drawn at once; a filter finds the others. */
const PAGE = 200;

/** One group in the main area. */
export class GroupPanel extends LivePanel<Group> {
  constructor(
    pool: PoolModel,
    readonly groupId: string,
    readonly openTask: (id: string) => void
  ) {
    super(pool, `jupyter-diamond-group-${groupId}`);
    this.node.dataset['groupId'] = groupId;
    this.title.label = pool.group(groupId)?.name ?? 'Group';
    void this.reload();
  }

  tab: TabName = 'members';

  choose(tab: TabName): void {
    this.tab = tab;
    this.changed.emit();
  }

  get name(): string {
    return this.value?.name ?? this.groupId;
  }

  cancel(): Promise<void> {
    return this.askAndDo(
      `Cancel ${this.name}?`,
      'All jobs of its members are taken from their queues or stopped. What they have written so far stays.',
      'Cancel all members',
      () => this.pool.api.onGroup(this.groupId, 'cancel'),
      `${this.name} was not cancelled`
    );
  }

  hold(act: 'hold' | 'release'): Promise<void> {
    const what = act === 'hold' ? 'held' : 'released';
    return this.do(() => this.pool.api.onGroup(this.groupId, act), `${this.name} was not ${what}`);
  }

  copyReference(): void {
    Clipboard.copyToSystem(`diamond.task(${JSON.stringify(this.name)})`);
  }

  protected override draw(): JSX.Element {
    return <Details panel={this} />;
  }

  protected override fetch(): Promise<Group> {
    return this.pool.api.group(this.groupId);
  }

  protected override newest(): number {
    return this.pool.group(this.groupId)?.version ?? -1;
  }

  protected override accept(group: Group): void {
    super.accept(group);
    this.title.label = group.name;
    this.title.caption = `Group ${group.name} (${group.id})`;
  }
}

function Details(props: { panel: GroupPanel }): JSX.Element {
  const { panel } = props;
  useSignal(panel.changed);
  const group = panel.value;
  if (group === null) {
    return <p className="jp-diamond-empty">{panel.problem === '' ? 'Reading the group…' : panel.problem}</p>;
  }
  return (
    <>
      <Head panel={panel} group={group} />
      <TabStrip tabs={TABS} chosen={panel.tab} choose={tab => panel.choose(tab)} owner={panel.id} />
      <div
        className="jp-diamond-tabbody"
        role="tabpanel"
        id={`${panel.id}-body`}
        aria-labelledby={`${panel.id}-${panel.tab}`}
        data-tab={panel.tab}
      >
        {panel.tab === 'members' && <MembersTab panel={panel} group={group} />}
        {panel.tab === 'cell' && <CellTab task={group} />}
        {panel.tab === 'events' && (
          <EventsTab load={(after, limit) => panel.pool.api.groupEvents(group.id, after, limit)} about={group} />
        )}
      </div>
    </>
  );
}

function Head(props: { panel: GroupPanel; group: Group }): JSX.Element {
  const { panel, group } = props;
  const state = groupState(group);
  const now = useNow(group.phase !== 'ENDED');
  const took = secondsBetween(group.created_at, group.ended_at ?? new Date(now).toISOString()) ?? 0;
  const since = `asked for ${moment(group.created_at, now)}`;
  const time = group.phase === 'ENDED' ? `took ${duration(Math.floor(took))}` : `for ${clock(took)}`;
  const cause = groupCause(group);
  const bad = group.phase === 'ENDED' && group.outcome !== 'OK' && group.outcome !== 'CANCELLED';
  return (
    <div
      className="jp-diamond-dhead"
      data-group-id={group.id}
      data-group-name={group.name}
      data-state={state}
      data-phase={group.phase}
    >
      <div className="jp-diamond-dline">
        <h2>{group.name}</h2>
        <GroupWords group={group} />
        <span className="jp-diamond-spring" />
        <Actions panel={panel} group={group} />
      </div>
      <GroupBar group={group} />
      <GroupCounts group={group} />
      <GroupPlaces group={group} />
      <div className="jp-diamond-progress">
        <span>{[since, time].join(' · ')}</span>
      </div>
      <GroupFailures api={panel.pool.api} group={group} />
      {cause !== '' && (
        <p className={`jp-diamond-banner${bad ? ' jp-mod-error' : ''}`} data-part="cause">
          {cause}
        </p>
      )}
      {panel.problem !== '' && (
        <p className="jp-diamond-banner jp-mod-warning" data-part="problem">
          What you see may be old. {panel.problem}
        </p>
      )}
      {group.why_here !== '' && (
        <p className="jp-diamond-whyhere">
          <span className="jp-diamond-fine">why here:</span> {group.why_here}
        </p>
      )}
      <WhyThere group={group} />
    </div>
  );
}

/** One line a place where there are several: how many are there, and the sentence of the decision. */
function WhyThere(props: { group: Group }): JSX.Element | null {
  const told = props.group.shares.filter(share => share.why !== '');
  if (told.length < 2) {
    return null;
  }
  return (
    <ul className="jp-diamond-whyhere" data-part="why-there">
      {told.map(share => (
        <li key={where(share)}>
          <span className="jp-diamond-fine">
            {count(shareTotal(share))} at {where(share)}:
          </span>{' '}
          {share.why}
        </li>
      ))}
    </ul>
  );
}

/** Mark, word, `37/100`, and its round. */
export function GroupWords(props: { group: Group }): JSX.Element {
  const { group } = props;
  const sign = stateSign(groupState(group));
  const word = groupWord(group);
  const held = group.held_by === null || word.startsWith('held') ? '' : `held by ${group.held_by}`;
  return (
    <span className="jp-diamond-dstate">
      <Mark key={sign.word} sign={sign} />
      <span>
        {word} {progress(group)}
      </span>
      <span className="jp-diamond-means">{[roundsText(group), held].filter(text => text !== '').join(' · ')}</span>
    </span>
  );
}

function Actions(props: { panel: GroupPanel; group: Group }): JSX.Element {
  const { panel, group } = props;
  const asked = group.cancel_requested_by !== null;
  const held = group.held_by !== null;
  return (
    <span className="jp-diamond-actions">
      <button
        type="button"
        className="jp-diamond-button"
        data-action="copy"
        title={`Copy diamond.task("${group.name}") for a notebook`}
        onClick={() => panel.copyReference()}
      >
        Copy reference
      </button>
      {group.phase !== 'ENDED' && (
        <>
          <button
            type="button"
            className="jp-diamond-button"
            data-action={held ? 'release' : 'hold'}
            title={held ? 'Let it go on' : 'Submit nothing more of it for now'}
            disabled={asked}
            onClick={() => void panel.hold(held ? 'release' : 'hold')}
          >
            {held ? 'Release' : 'Hold'}
          </button>
          <button
            type="button"
            className="jp-diamond-button jp-mod-warn"
            data-action="cancel"
            disabled={asked}
            onClick={() => void panel.cancel()}
          >
            {asked ? 'Cancelling…' : 'Cancel…'}
          </button>
        </>
      )}
    </span>
  );
}

/** Every member that has begun, as far as it fits; a filter finds the rest. */
function MembersTab(props: { panel: GroupPanel; group: Group }): JSX.Element {
  const { panel, group } = props;
  const [filter, setFilter] = React.useState('');
  const { value, problem } = useLoaded(() => panel.pool.api.members(group.id), `${group.id} ${group.version}`);
  if (value === null) {
    return <p className="jp-diamond-empty">{problem === '' ? 'Reading its members…' : problem}</p>;
  }
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? value : value.filter(each => matches(each, words));
  const shown = found.slice(0, PAGE);
  return (
    <div className="jp-diamond-memberlist">
      <div className="jp-diamond-dline">
        <input
          type="search"
          className="jp-diamond-filter"
          placeholder="Filter: failed, lr=0.1, delta…"
          aria-label="Filter the members"
          value={filter}
          onChange={event => setFilter(event.target.value)}
        />
        <span className="jp-diamond-fine" data-part="shown">
          {shown.length < found.length
            ? `${count(shown.length)} of ${count(found.length)}; a filter finds the others`
            : `${count(found.length)} of ${count(group.members)} members`}
        </span>
      </div>
      <table className="jp-diamond-table" data-part="members">
        <thead>
          <tr>
            <th scope="col" className="jp-mod-number">
              No.
            </th>
            {group.params.map(name => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
            <th scope="col">State</th>
            <th scope="col">Place</th>
            <th scope="col" className="jp-mod-number">
              Ran
            </th>
            <th scope="col">Cause</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(member => (
            <MemberRow key={member.id} member={member} params={group.params} open={panel.openTask} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function matches(member: MemberSummary, words: readonly string[]): boolean {
  const said = memberWords(member);
  return words.every(word => said.includes(word));
}

function MemberRow(props: { member: MemberSummary; params: readonly string[]; open: (id: string) => void }): JSX.Element {
  const { member, params, open } = props;
  const sign = stateSign(member.state);
  const now = useNow(member.phase === 'RUNNING');
  const ran = secondsBetween(member.started_at, member.ended_at ?? new Date(now).toISOString());
  return (
    <tr data-member={member.index} data-state={member.state}>
      <td className="jp-mod-number">
        <button type="button" className="jp-diamond-link" title={`Open ${member.name}`} onClick={() => open(member.id)}>
          {member.index}
        </button>
      </td>
      {params.map(name => (
        <td key={name}>{text(member.params[name])}</td>
      ))}
      <td>
        <Mark sign={sign} /> {sign.word}
      </td>
      <td>{where(member)}</td>
      <td className="jp-mod-number">{ran === null ? '' : duration(Math.floor(ran))}</td>
      <td className="jp-diamond-data">{member.cause}</td>
    </tr>
  );
}

function text(value: unknown): string {
  return value === undefined ? '' : value === null ? 'None' : String(value);
}
