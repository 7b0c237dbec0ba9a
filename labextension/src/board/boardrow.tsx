import * as React from 'react';

import type { Group, MemberSummary, TaskSummary } from '../api-types';
import { ThinBar } from '../bar';
import { useNow } from '../clock';
import { count, moment } from '../format';
import { GroupBar } from '../groupparts';
import { countsText, groupCause, groupState, groupTime, groupWord, paramsText, placesText, progress } from '../grouptext';
import { Mark } from '../marks';
import { Twist } from '../sites';
import { elapsedShare, endedText, sentence, stateWords, timeText, where } from '../tasktext';
import { stateSign } from '../vocabulary';
import type { Line } from './lines';

export interface RowProps {
  readonly line: Line;
  /** Where it stands in the whole list, from 0. */
  readonly at: number;
  readonly top: number;
  readonly chosen: boolean;
  readonly active: boolean;
  readonly domId: string;
}

/** One line. It has no handlers: the table hears for all of them. */
export const BoardRow = React.memo(function BoardRow(props: RowProps): JSX.Element {
  const { line, at, top, chosen, active, domId } = props;
  const group = line.kind === 'group' ? line : null;
  const classes = ['jp-diamond-boardrow', `jp-mod-${line.kind}`, chosen ? 'jp-mod-chosen' : '', active ? 'jp-mod-active' : ''];
  return (
    <div
      role="row"
      id={domId}
      className={classes.filter(name => name !== '').join(' ')}
      style={{ transform: `translateY(${top}px)` }}
      aria-rowindex={at + 2}
      aria-level={line.kind === 'task' || line.kind === 'group' ? 1 : 2}
      aria-selected={chosen}
      {...(group === null ? {} : { 'aria-expanded': group.open })}
      data-at={at}
      data-line={line.id}
      data-state={line.kind === 'wait' ? '' : line.kind === 'group' ? groupState(line.group) : line.task.state}
    >
      {line.kind === 'wait' ? <WaitCells /> : line.kind === 'group' ? <GroupCells line={line} chosen={chosen} /> : <TaskCells task={line.task} member={line.kind === 'member' ? line.task : null} chosen={chosen} />}
    </div>
  );
});

function Check(props: { chosen: boolean; name: string }): JSX.Element {
  return (
    <span role="gridcell" className="jp-diamond-check">
      <input type="checkbox" tabIndex={-1} checked={props.chosen} readOnly aria-label={`Choose ${props.name}`} />
    </span>
  );
}

function TaskCells(props: { task: TaskSummary; member: MemberSummary | null; chosen: boolean }): JSX.Element {
  const { task, member, chosen } = props;
  const said = sentence(task);
  const params = member === null ? '' : paramsText(member.params);
  return (
    <>
      <Check chosen={chosen} name={task.name} />
      <span role="gridcell" className="jp-diamond-statecell" title={stateWords(task)}>
        <Mark sign={stateSign(task.state)} />
        <span>{stateWords(task)}</span>
      </span>
      <span role="rowheader" className="jp-diamond-name" title={`${task.name}\n${task.id}`}>
        {task.name}
      </span>
      <Place text={where(task)} job={task.native_id} />
      <Submitted at={task.created_at} />
      <TaskTime task={task} />
      <span role="gridcell" className="jp-diamond-quietcell" title={params === '' ? (task.notebook ?? '') : params}>
        {params === '' ? (task.notebook ?? '') : params}
      </span>
      <span role="gridcell" className="jp-diamond-quietcell" title={said}>
        {said}
      </span>
    </>
  );
}

function GroupCells(props: { line: Line & { kind: 'group' }; chosen: boolean }): JSX.Element {
  const { group } = props.line;
  const said = groupCause(group);
  return (
    <>
      <Check chosen={props.chosen} name={group.name} />
      <span role="gridcell" className="jp-diamond-statecell" title={countsText(group)}>
        <Mark sign={stateSign(groupState(group))} />
        <span>{groupWord(group)}</span>
      </span>
      <span role="rowheader" className="jp-diamond-name jp-diamond-groupname" title={`${group.name}\n${group.id}`} data-fold={group.id}
        aria-expanded={props.line.open}>
        <Twist />
        <span>{group.name}</span> <span className="jp-diamond-groupcount">{progress(group)}</span>
      </span>
      <Place text={placesText(group)} job={null} />
      <Submitted at={group.created_at} />
      <GroupTime group={group} />
      <span role="gridcell" className="jp-diamond-quietcell" title={group.notebook.path ?? ''}>
        {group.notebook.path ?? ''}
      </span>
      <span role="gridcell" className="jp-diamond-quietcell" title={said === '' ? countsText(group) : said}>
        {group.phase === 'ENDED' || said !== '' ? said || countsText(group) : <GroupBar group={group} />}
      </span>
    </>
  );
}

function WaitCells(): JSX.Element {
  return (
    <span role="gridcell" className="jp-diamond-waitcell">
      Reading its members…
    </span>
  );
}

function Place(props: { text: string; job: string | null }): JSX.Element {
  const { text, job } = props;
  return (
    <span role="gridcell" className="jp-diamond-placecell" title={job === null ? text : `${text}, job ${job}`}>
      {text}
    </span>
  );
}

/** Local time; the same instant in UTC for whoever points at it. */
function Submitted(props: { at: string }): JSX.Element {
  const now = useNow(false);
  const utc = new Date(props.at).toISOString().replace('T', ' ').slice(0, 19);
  return (
    <span role="gridcell" className="jp-diamond-timecell" title={`${utc} UTC`}>
      {moment(props.at, now)}
    </span>
  );
}

function TaskTime(props: { task: TaskSummary }): JSX.Element {
  const { task } = props;
  const now = useNow(task.phase !== 'ENDED');
  const share = task.phase === 'RUNNING' ? elapsedShare(task, now) : null;
  const percent = share === null ? '' : `${Math.round(100 * share)} % of the time limit`;
  return (
    <span role="gridcell" className="jp-diamond-timecell" title={[endedText(task, now), percent].filter(part => part !== '').join(', ')}>
      {timeText(task, now)}
      {share !== null && <ThinBar share={share} label={percent} late={share > 0.9} />}
    </span>
  );
}

function GroupTime(props: { group: Group }): JSX.Element {
  const now = useNow(props.group.phase !== 'ENDED');
  return (
    <span role="gridcell" className="jp-diamond-timecell" title={`${count(props.group.members)} members`}>
      {groupTime(props.group, now)}
    </span>
  );
}
