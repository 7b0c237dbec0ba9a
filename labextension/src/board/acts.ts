/** What is done to many tasks at once: what it would mean, said before, and what came of it, said after. Pure. */

import { count, counted } from '../format';
import { endedCount, placesText, progress } from '../grouptext';
import { stateWords, where } from '../tasktext';
import type { Line } from './lines';

export type Act = 'cancel' | 'replan';
export type Chosen = Exclude<Line, { kind: 'wait' }>;

/** So many are named in a question; the others are counted. */
const NAMED = 8;

export interface Meant {
  readonly act: Act;
  readonly targets: readonly Chosen[];
  /** What was chosen and is left as it is, with the reason: `12 have ended`. */
  readonly left: readonly string[];
}

/** What of the chosen lines the act can be done to. A member whose group is chosen, too, is part of it. */
export function meant(act: Act, chosen: readonly Chosen[]): Meant {
  const groups = new Set(chosen.filter(line => line.kind === 'group').map(line => line.id));
  const own = chosen.filter(line => line.kind !== 'member' || !groups.has(line.group.id));
  const active = own.filter(line => !hasEnded(line));
  const ended = own.length - active.length;
  const left = ended === 0 ? [] : [`${count(ended)} ${ended === 1 ? 'has' : 'have'} ended`];
  if (act === 'cancel') {
    return { act, targets: active, left };
  }
  const targets = active.filter(line => line.kind === 'group' || (line.kind === 'task' && line.task.phase === 'PENDING'));
  const members = active.filter(line => line.kind === 'member').length;
  const started = active.length - targets.length - members;
  if (started > 0) {
    left.push(`${count(started)} ${started === 1 ? 'has' : 'have'} started or cannot be asked about`);
  }
  if (members > 0) {
    left.push(`${counted(members, 'member')} can only be planned with the whole group`);
  }
  return { act, targets, left };
}

function hasEnded(line: Chosen): boolean {
  return (line.kind === 'group' ? line.group.phase : line.task.phase) === 'ENDED';
}

/** `Cancel 3 tasks and 1 group?` */
export function question(wanted: Meant): string {
  const groups = wanted.targets.filter(line => line.kind === 'group').length;
  const tasks = wanted.targets.length - groups;
  const parts = [tasks > 0 ? counted(tasks, 'task') : '', groups > 0 ? counted(groups, 'group') : ''];
  const what = parts.filter(part => part !== '').join(' and ');
  return wanted.act === 'cancel' ? `Cancel ${what}?` : `Plan ${what} anew?`;
}

/** What will happen, in a sentence. */
export function consequence(act: Act): string {
  return act === 'cancel'
    ? 'Their jobs are taken from the queues or stopped, for good. What they have written so far stays.'
    : 'Each is planned with the facts of now. Where another place is better, its waiting job is taken back and sent there; where none is, it keeps its place in the queue.';
}

/** One line a target: what it is, and what it has now. */
export function named(targets: readonly Chosen[]): string[] {
  const lines = targets.slice(0, NAMED).map(lineText);
  const rest = targets.length - lines.length;
  return rest > 0 ? [...lines, `and ${count(rest)} more`] : lines;
}

export function lineText(line: Chosen): string {
  if (line.kind === 'group') {
    const { group } = line;
    const left = group.members - endedCount(group);
    const places = placesText(group);
    return `${group.name}: group, ${progress(group)} ended, ${counted(left, 'member')} left${places === '' ? '' : ` at ${places}`}`;
  }
  const { task } = line;
  const place = where(task);
  return `${task.name}: ${stateWords(task)}${place === '' ? '' : ` at ${place}`}`;
}

/** `3 of 4 were asked to end. fit: The site does not answer.` */
export function outcomeText(wanted: Meant, failed: readonly string[]): string {
  const done = wanted.targets.length - failed.length;
  const verb = wanted.act === 'cancel' ? 'asked to end' : 'planned anew';
  const said = `${count(done)} of ${count(wanted.targets.length)} ${wanted.targets.length === 1 ? 'was' : 'were'} ${verb}.`;
  return [said, ...failed.slice(0, 3), failed.length > 3 ? `${count(failed.length - 3)} more failed.` : '']
    .filter(part => part !== '')
    .join(' ');
}
