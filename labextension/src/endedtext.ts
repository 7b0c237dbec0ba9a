/** What is said of tasks that have ended. Pure. */

import type { TaskSummary } from './api-types';
import { duration, secondsBetween } from './format';
import { where } from './tasktext';
import { stateSign } from './vocabulary';

/** A notification shows little: the task's page has the rest. */
const CAUSE = 160;

/** `fit: succeeded on delta:cpu after 2 h`, `fit: failed on delta:cpu. ValueError: no data.` */
export function endedSentence(task: TaskSummary): string {
  const place = where(task);
  const took = secondsBetween(task.started_at, task.ended_at);
  const after = took === null ? '' : ` after ${duration(took)}`;
  const what = `${task.name}: ${stateSign(task.state).word}${place === '' ? '' : ` on ${place}`}${after}`;
  if (task.outcome === 'OK' || task.cause === '') {
    return `${what}.`;
  }
  const line = task.cause.split('\n', 1)[0] ?? '';
  return `${what}. ${line.length > CAUSE ? `${line.slice(0, CAUSE)}…` : line}`;
}

/** `12 tasks have ended: 10 succeeded, 2 out of memory.` */
export function endedTogether(tasks: readonly TaskSummary[]): string {
  const counts = new Map<string, number>();
  for (const task of tasks) {
    const { word } = stateSign(task.state);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([word, count]) => `${count} ${word}`);
  return `${tasks.length} tasks have ended: ${parts.join(', ')}.`;
}

/** Whether a document that JupyterLab has open (by its path below the root) is the notebook that the server names. */
export function sameNotebook(opened: string, named: string): boolean {
  const path = opened.includes(':') ? opened.slice(opened.indexOf(':') + 1) : opened;
  return path !== '' && (named === path || named.endsWith(`/${path}`));
}
