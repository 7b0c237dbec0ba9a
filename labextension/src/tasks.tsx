import * as React from 'react';

import type { Group, TaskSummary } from './api-types';
import { ThinBar } from './bar';
import { useNow } from './clock';
import { GroupRow } from './grouprow';
import { Mark } from './marks';
import { PoolModel, countsLine } from './pool';
import { elapsedShare, endedText, sentence, stateWords, timeText, where } from './tasktext';
import { Staging } from './transfers';
import { stateSign } from './vocabulary';

/** Rows drawn at once; the rest come page by page, so that a thousand tasks cost no more than two hundred. */
const PAGE = 200;

interface ViewProps {
  pool: PoolModel;
  openTask: (id: string) => void;
  openGroup: (id: string) => void;
  seeAll: () => void;
}

export function TasksView(props: ViewProps): JSX.Element {
  const { pool, openTask, openGroup } = props;
  const [shown, setShown] = React.useState(PAGE);
  const list = React.useRef<HTMLUListElement>(null);
  const tasks = pool.tasks;
  const all = merged(pool);
  const rows = all.slice(0, shown);
  const hidden = all.length - rows.length;
  const older = () => {
    setShown(shown + PAGE);
    if (hidden <= PAGE && pool.more) {
      pool.showOlder();
    }
  };
  return (
    <section className="jp-diamond-section jp-diamond-tasksection" aria-label="Tasks">
      <header className="jp-diamond-head">
        <h2>Tasks</h2>
        <span className="jp-diamond-counts">{countsLine(pool.counts)}</span>
        <SeeAll what="tasks" open={props.seeAll} />
      </header>
      {tasks === null && <p className="jp-diamond-empty">Reading the tasks…</p>}
      {tasks !== null && all.length === 0 && (
        <p className="jp-diamond-empty">
          No tasks yet. Start a cell with <code>%%diamond_submit</code>.
        </p>
      )}
      <ul className="jp-diamond-tasks" ref={list} onKeyDown={moveFocus} aria-label="Tasks, newest first">
        {rows.map((row, at) =>
          'members' in row ? (
            <GroupRow key={row.id} group={row} first={at === 0} {...{ pool, openTask, openGroup }} />
          ) : (
            <TaskRow key={row.id} task={row} fresh={pool.moved.has(row.id)} first={at === 0} {...{ pool, openTask }} />
          )
        )}
      </ul>
      {(hidden > 0 || pool.more) && (
        <button type="button" className="jp-diamond-link jp-diamond-older" data-action="older" onClick={older}>
          Show {PAGE} older
        </button>
      )}
    </section>
  );
}

/** From a glance to the whole: `see all →`. */
export function SeeAll(props: { what: string; open: () => void }): JSX.Element {
  return (
    <button
      type="button"
      className="jp-diamond-link"
      data-action={`all-${props.what}`}
      aria-label={`See all ${props.what}`}
      onClick={props.open}
    >
      see all →
    </button>
  );
}

/** Groups among tasks: active ones first, then ended ones; both newest first. */
function merged(pool: PoolModel): (TaskSummary | Group)[] {
  const tasks = pool.tasks ?? [];
  if (pool.groups.length === 0) {
    return [...tasks];
  }
  const ended = (row: TaskSummary | Group) => (row.phase === 'ENDED' ? 1 : 0);
  return [...tasks, ...pool.groups].sort(
    (a, b) => ended(a) - ended(b) || b.created_at.localeCompare(a.created_at)
  );
}

interface RowProps {
  pool: PoolModel;
  task: TaskSummary;
  fresh: boolean;
  first: boolean;
  openTask: (id: string) => void;
}

const TaskRow = React.memo(function TaskRow(props: RowProps): JSX.Element {
  const { task, fresh, first, openTask } = props;
  const sign = stateSign(task.state);
  const said = sentence(task);
  return (
    <li
      className="jp-diamond-task"
      data-task-id={task.id}
      data-task-name={task.name}
      data-state={task.state}
      data-phase={task.phase}
      data-site={task.site ?? ''}
    >
      <button
        type="button"
        className="jp-diamond-taskrow"
        tabIndex={first ? 0 : -1}
        title={title(task)}
        onClick={() => openTask(task.id)}
      >
        <Mark key={task.state} sign={sign} fresh={fresh} />
        <span className="jp-diamond-line">
          <span className="jp-diamond-name">{task.name}</span>
          <TaskTime task={task} />
        </span>
        <span className="jp-diamond-line jp-diamond-second">
          <span className="jp-diamond-words">
            <span className="jp-diamond-word">{stateWords(task)}</span>
            {where(task) !== '' && ` · ${where(task)}`}
          </span>
          <EndedAgo task={task} />
        </span>
        <Staging pool={props.pool} task={task} />
        {task.phase === 'RUNNING' && task.state !== 'staging_out' && <RunBar task={task} />}
        {said !== '' && (
          <span className={`jp-diamond-cause${task.phase === 'ENDED' ? '' : ' jp-mod-trouble'}`}>{said}</span>
        )}
      </button>
    </li>
  );
});

function TaskTime(props: { task: TaskSummary }): JSX.Element {
  const now = useNow(props.task.phase !== 'ENDED');
  return <span className="jp-diamond-time">{timeText(props.task, now)}</span>;
}

function EndedAgo(props: { task: TaskSummary }): JSX.Element | null {
  const now = useNow(props.task.phase === 'ENDED');
  const text = endedText(props.task, now);
  return text === '' ? null : <span className="jp-diamond-age">{text}</span>;
}

function RunBar(props: { task: TaskSummary }): JSX.Element {
  const share = elapsedShare(props.task, useNow());
  const label = share === null ? 'elapsed share unknown' : `${Math.round(100 * share)} % of the time limit`;
  return <ThinBar share={share} label={label} late={(share ?? 0) > 0.9} />;
}

function title(task: TaskSummary): string {
  const lines = [`${task.name}: ${stateWords(task)}`];
  if (where(task) !== '') {
    lines.push(`${where(task)}${task.native_id === null ? '' : `, job ${task.native_id}`}`);
  }
  if (task.attempts > 1) {
    lines.push(`attempt ${task.attempts}`);
  }
  return [...lines, task.id].join('\n');
}

/** Arrow keys, Home and End walk the rows: the list is one stop for the Tab key. */
function moveFocus(event: React.KeyboardEvent<HTMLUListElement>): void {
  const buttons = [...event.currentTarget.querySelectorAll<HTMLButtonElement>('.jp-diamond-taskrow')];
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  const next = to === undefined || at < 0 ? undefined : buttons[to];
  if (next !== undefined) {
    event.preventDefault();
    next.focus();
  }
}
