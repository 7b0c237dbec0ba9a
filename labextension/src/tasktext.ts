/** What a task's row says. Pure. */

import type { TaskSummary } from './api-types';
import { age, clock, duration, secondsBetween } from './format';
import { reasonWord, stateSign } from './vocabulary';

/** `running`, `pending · waits on you`, `running · cannot be asked`. */
export function stateWords(task: TaskSummary): string {
  const word = stateSign(task.state).word;
  const reason = task.phase === 'PENDING' ? reasonWord(task.reason_class) : '';
  return reason === '' ? word : `${word} · ${reason}`;
}

/** `delta:gpuA100x4`, `delta`, or an empty string before there is a site. */
export function where(task: { site: string | null; partition: string | null }): string {
  if (task.site === null) {
    return '';
  }
  return task.partition === null ? task.site : `${task.site}:${task.partition}`;
}

/** The time that matters in this state: elapsed of limit, waiting since, or how long it took. */
export function timeText(task: TaskSummary, now: number): string {
  if (task.phase === 'ENDED') {
    const took = secondsBetween(task.started_at, task.ended_at);
    return took === null ? '' : duration(took);
  }
  const elapsed = secondsBetween(task.started_at, now);
  if (task.state === 'staging_out') {
    return ''; // its job is over, and how long that took stands in its details
  }
  if (elapsed === null) {
    return `for ${age(secondsBetween(task.created_at, now) ?? 0)}`;
  }
  const limit = task.walltime_s;
  return limit === null ? clock(elapsed) : `${clock(elapsed, limit)} / ${clock(limit)}`;
}

/** Elapsed share of the limit while it runs; null when either is unknown. */
export function elapsedShare(task: TaskSummary, now: number): number | null {
  const elapsed = secondsBetween(task.started_at, now);
  return elapsed === null || task.walltime_s === null ? null : elapsed / task.walltime_s;
}

/** `3 min ago` for what has ended, else empty. */
export function endedText(task: TaskSummary, now: number): string {
  const since = secondsBetween(task.ended_at, now);
  return since === null || task.phase !== 'ENDED' ? '' : `${age(since)} ago`;
}

/** The sentence under the row: trouble with asking while active, the cause once it ended badly. */
export function sentence(task: TaskSummary): string {
  if (task.phase === 'ENDED') {
    return task.outcome === 'OK' ? '' : task.cause;
  }
  return task.trouble !== '' ? task.trouble : task.cause;
}
