import * as React from 'react';

import type { Attempt, Task } from './api-types';
import { ThinBar } from './bar';
import { useNow } from './clock';
import type { TaskPanel } from './details';
import { clock, duration, moment, secondsBetween } from './format';
import { Mark } from './marks';
import { sizeText } from './sizetext';
import { where } from './tasktext';
import { Staging } from './transfers';
import { VerdictLine } from './verdictline';
import { reasonWord, stateSign } from './vocabulary';

/** The task in four lines: what and where, how far, what went wrong, why here. */
export function DetailsHead(props: { panel: TaskPanel; task: Task }): JSX.Element {
  const { panel, task } = props;
  const attempt = task.attempts[task.attempts.length - 1] ?? null;
  return (
    <div
      className="jp-diamond-dhead"
      data-task-id={task.id}
      data-task-name={task.name}
      data-state={task.state}
      data-phase={task.phase}
    >
      <div className="jp-diamond-dline">
        <h2>{task.name}</h2>
        <StateWords task={task} attempt={attempt} />
        <span className="jp-diamond-spring" />
        <Actions panel={panel} task={task} />
      </div>
      {attempt !== null && <Progress task={task} attempt={attempt} />}
      <Staging pool={panel.pool} task={task} />
      <Trouble task={task} attempt={attempt} problem={panel.problem} />
      {task.phase === 'ENDED' && task.outcome !== 'CANCELLED' && <VerdictLine api={panel.pool.api} task={task} />}
      {task.why_here !== '' && (
        <p className="jp-diamond-whyhere">
          <span className="jp-diamond-fine">why here:</span> {task.why_here}{' '}
          <button type="button" className="jp-diamond-link" data-action="why" onClick={() => panel.choose('why')}>
            candidates
          </button>
        </p>
      )}
    </div>
  );
}

export function StateWords(props: { task: Task; attempt: Attempt | null }): JSX.Element {
  const { task, attempt } = props;
  const sign = stateSign(task.state);
  const reason = task.phase === 'PENDING' ? reasonWord(attempt?.reason_class ?? null) : '';
  const parts = [
    attempt === null ? '' : `on ${where(attempt)}`,
    attempt?.native == null ? '' : `job ${attempt.native.id}`,
    attempt === null ? '' : sizeText(attempt.size),
    task.healing.segments > 1 && attempt !== null ? `segment ${attempt.segment} of ${task.healing.segments}` : '',
    task.attempts.length > 1 ? `attempt ${task.attempts.length}` : ''
  ].filter(part => part !== '');
  return (
    <span className="jp-diamond-dstate">
      <Mark key={task.state} sign={sign} />
      <span>
        {sign.word}
        {reason !== '' && ` · ${reason}`}
      </span>
      <span className="jp-diamond-means">{parts.join(' · ')}</span>
    </span>
  );
}

function Actions(props: { panel: TaskPanel; task: Task }): JSX.Element {
  const { panel, task } = props;
  const [copied, setCopied] = React.useState(false);
  const copy = () => {
    panel.copyReference();
    setCopied(true);
    window.setTimeout(() => setCopied(false), 1500);
  };
  const asked = task.cancel_requested_by !== null;
  return (
    <span className="jp-diamond-actions">
      <button
        type="button"
        className="jp-diamond-button"
        data-action="copy"
        title={`Copy diamond.task("${task.name}") for a notebook`}
        onClick={copy}
      >
        {copied ? 'Copied' : 'Copy reference'}
      </button>
      {task.phase !== 'ENDED' && (
        <button
          type="button"
          className="jp-diamond-button jp-mod-warn"
          data-action="cancel"
          disabled={asked}
          onClick={() => void panel.cancel()}
        >
          {asked ? 'Cancelling…' : 'Cancel…'}
        </button>
      )}
    </span>
  );
}

/** Elapsed of limit while it runs, the wait before, how long it took after. */
export function Progress(props: { task: Task; attempt: Attempt }): JSX.Element {
  const { task, attempt } = props;
  const now = useNow(task.phase !== 'ENDED');
  const elapsed = secondsBetween(attempt.started_at, attempt.ended_at ?? now);
  const limit = attempt.size.walltime_s;
  const queued = secondsBetween(attempt.submitted_at, attempt.started_at);
  // a job may be over while its files are still brought away
  const running = task.phase === 'RUNNING' && elapsed !== null && attempt.ended_at === null;
  const parts: string[] = [];
  if (running) {
    parts.push(`${clock(elapsed, limit)} of ${clock(limit)}`);
  } else if (task.phase === 'ENDED' || attempt.ended_at !== null) {
    parts.push(elapsed === null ? 'never started' : `took ${duration(elapsed)}`);
  } else {
    parts.push(`waiting for ${duration(Math.floor(secondsBetween(attempt.created_at, now) ?? 0))}`);
    if (attempt.expected_start_at !== null) {
      parts.push(`scheduler expects to start it at ${moment(attempt.expected_start_at, now)}`);
    }
  }
  if (attempt.started_at !== null) {
    const after = queued === null ? '' : queued < 1 ? ' at once' : `, ${duration(queued)} after it was submitted`;
    parts.push(`started ${moment(attempt.started_at, now)}${after}`);
  }
  if (attempt.ended_at !== null) {
    parts.push(`ended ${moment(attempt.ended_at, now)}`);
  }
  return (
    <div className="jp-diamond-progress">
      {running && (
        <ThinBar
          share={elapsed / limit}
          label={`${Math.round((100 * elapsed) / limit)} % of the time limit`}
          late={elapsed > 0.9 * limit}
        />
      )}
      <span>{parts.join(' · ')}</span>
    </div>
  );
}

export function Trouble(props: { task: Task; attempt: Attempt | null; problem: string }): JSX.Element {
  const { task, attempt, problem } = props;
  const said = task.cause === '' || task.next === '' || /[.!?:]$/.test(task.cause) ? task.cause : `${task.cause}.`;
  const cause = [said, task.next].filter(text => text !== '').join(' ');
  const trouble = task.phase === 'ENDED' ? '' : (attempt?.trouble ?? '');
  const bad = task.phase === 'ENDED' && task.outcome !== 'OK' && task.outcome !== 'CANCELLED';
  return (
    <>
      {cause !== '' && (
        <p className={`jp-diamond-banner${bad ? ' jp-mod-error' : ''}`} data-part="cause">
          {cause}
        </p>
      )}
      {trouble !== '' && (
        <p className="jp-diamond-banner jp-mod-warning" data-part="trouble">
          {trouble}
        </p>
      )}
      {problem !== '' && (
        <p className="jp-diamond-banner jp-mod-warning" data-part="problem">
          What you see may be old. {problem}
        </p>
      )}
    </>
  );
}
