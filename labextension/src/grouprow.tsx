import * as React from 'react';

import type { Group, MemberSummary } from './api-types';
import { useNow } from './clock';
import { GroupBar } from './groupparts';
import { WRONG, countsText, groupState, groupTime, placesText, progress, rowText } from './grouptext';
import { useLoaded } from './loadable';
import { Mark } from './marks';
import type { PoolModel } from './pool';
import { stateWords, where } from './tasktext';
import { stateSign } from './vocabulary';

/** Of an unfolded group so many members are shown: those that went wrong, then those that run. */
const MOST_MEMBERS = 8;
const RUNNING = ['running', 'completing', 'suspended', 'staging_out'];

interface Props {
  pool: PoolModel;
  group: Group;
  first: boolean;
  openTask: (id: string) => void;
  openGroup: (id: string) => void;
}

/** A group in the list of tasks: one row, which unfolds to the members that want to be looked at. */
export const GroupRow = React.memo(function GroupRow(props: Props): JSX.Element {
  const { pool, group, first, openTask, openGroup } = props;
  const [open, setOpen] = React.useState(false);
  const state = groupState(group);
  const sign = stateSign(state);
  const said = group.phase === 'ENDED' && group.outcome === 'OK' ? '' : group.cause || group.next;
  return (
    <li
      className="jp-diamond-task jp-diamond-group"
      data-group-id={group.id}
      data-group-name={group.name}
      data-state={state}
      data-phase={group.phase}
    >
      <button
        type="button"
        className="jp-diamond-fold"
        aria-expanded={open}
        aria-label={`Members of ${group.name}`}
        title="Show the members that failed or run"
        onClick={() => setOpen(!open)}
      >
        {open ? '▾' : '▸'}
      </button>
      <button
        type="button"
        className="jp-diamond-taskrow"
        tabIndex={first ? 0 : -1}
        title={`${group.name}: ${countsText(group)}\n${placesText(group)}\n${group.id}`}
        onClick={() => openGroup(group.id)}
      >
        <Mark key={state} sign={sign} />
        <span className="jp-diamond-line">
          <span className="jp-diamond-name">
            {group.name} <span className="jp-diamond-groupcount">{progress(group)}</span>
          </span>
          <GroupTime group={group} />
        </span>
        <span className="jp-diamond-line jp-diamond-second">
          <span className="jp-diamond-words">{rowText(group)}</span>
        </span>
        {group.phase !== 'ENDED' && <GroupBar group={group} />}
        {said !== '' && (
          <span className={`jp-diamond-cause${group.phase === 'ENDED' ? '' : ' jp-mod-trouble'}`}>{said}</span>
        )}
      </button>
      {open && <Members pool={pool} group={group} openTask={openTask} openGroup={openGroup} />}
    </li>
  );
});

function GroupTime(props: { group: Group }): JSX.Element {
  const now = useNow(props.group.phase !== 'ENDED');
  return <span className="jp-diamond-time">{groupTime(props.group, now)}</span>;
}

function Members(props: Omit<Props, 'first'>): JSX.Element {
  const { pool, group, openTask, openGroup } = props;
  const load = async (): Promise<MemberSummary[]> => {
    const wrong = await pool.api.members(group.id, WRONG, MOST_MEMBERS);
    const running = await pool.api.members(group.id, RUNNING, MOST_MEMBERS - wrong.length || 1);
    return [...wrong, ...running].slice(0, MOST_MEMBERS);
  };
  const { value, problem } = useLoaded(load, `${group.id} ${group.version}`);
  if (value === null) {
    return <p className="jp-diamond-empty">{problem === '' ? 'Reading its members…' : problem}</p>;
  }
  return (
    <ul className="jp-diamond-members" aria-label={`Members of ${group.name} that failed or run`}>
      {value.map(member => (
        <li key={member.id} data-member={member.index} data-state={member.state}>
          <button type="button" className="jp-diamond-taskrow" title={member.cause} onClick={() => openTask(member.id)}>
            <Mark sign={stateSign(member.state)} />
            <span className="jp-diamond-line">
              <span className="jp-diamond-name">{member.name}</span>
              <span className="jp-diamond-time">{stateWords(member)}</span>
            </span>
            {where(member) !== '' && <span className="jp-diamond-line jp-diamond-second">{where(member)}</span>}
          </button>
        </li>
      ))}
      <li className="jp-diamond-allmembers">
        <button type="button" className="jp-diamond-link" data-action="all-members" onClick={() => openGroup(group.id)}>
          {value.length === 0 ? 'None failed, none runs. All ' : 'All '}
          {group.members} members
        </button>
      </li>
    </ul>
  );
}
