/** Which lines the table of tasks has: filtered, sorted, groups folded or not. Pure; ten thousand tasks take milliseconds. */

import type { Group, MemberSummary, TaskSummary } from '../api-types';
import { secondsBetween } from '../format';
import { groupState, groupWord, placesText } from '../grouptext';
import { stateWords, where } from '../tasktext';
import type { State } from '../words';

export type Line =
  | { readonly kind: 'task'; readonly id: string; readonly task: TaskSummary }
  | { readonly kind: 'group'; readonly id: string; readonly group: Group; readonly open: boolean }
  | { readonly kind: 'member'; readonly id: string; readonly task: MemberSummary; readonly group: Group }
  | { readonly kind: 'wait'; readonly id: string; readonly group: Group };

/** Classes of states that a reader asks for; every state is in exactly one of those below `active`. */
export const CLASSES = {
  any: 'all states',
  active: 'not ended',
  pending: 'pending',
  running: 'running',
  unknown: 'unknown',
  succeeded: 'succeeded',
  wrong: 'went wrong',
  cancelled: 'cancelled'
} as const;
export type StateClass = keyof typeof CLASSES;

const OF_STATE: { readonly [state in State]: StateClass } = {
  waiting: 'pending',
  staging_in: 'pending',
  submitting: 'pending',
  submit_unknown: 'unknown',
  pending: 'pending',
  configuring: 'pending',
  running: 'running',
  suspended: 'running',
  completing: 'running',
  staging_out: 'running',
  unknown: 'unknown',
  completed: 'succeeded',
  failed: 'wrong',
  cancelled: 'cancelled',
  timeout: 'wrong',
  out_of_memory: 'wrong',
  node_fail: 'wrong',
  preempted: 'wrong',
  rejected: 'wrong',
  deadline: 'wrong',
  lost: 'wrong'
};

export interface Filter {
  readonly words: readonly string[];
  readonly state: StateClass;
  readonly site: string;
  readonly notebook: string;
}

export const NO_FILTER: Filter = { words: [], state: 'any', site: '', notebook: '' };

export type SortBy = 'submitted' | 'name' | 'state' | 'place' | 'time';
export interface Order {
  readonly by: SortBy;
  readonly down: boolean;
}
export const NEWEST_FIRST: Order = { by: 'submitted', down: true };

export interface Given {
  readonly tasks: readonly TaskSummary[];
  readonly groups: readonly Group[];
  readonly open: ReadonlySet<string>;
  readonly members: (group: string) => readonly MemberSummary[] | null;
  /** The instant in ms: how long something runs depends on it. */
  readonly now: number;
}

export function isInClass(state: State, wanted: StateClass): boolean {
  if (wanted === 'any') {
    return true;
  }
  const found = OF_STATE[state] ?? 'unknown';
  return wanted === 'active' ? found === 'pending' || found === 'running' || found === 'unknown' : found === wanted;
}

export function isTaskFound(task: TaskSummary, filter: Filter): boolean {
  if (!isInClass(task.state, filter.state) || (filter.site !== '' && task.site !== filter.site)) {
    return false;
  }
  if (filter.notebook !== '' && task.notebook !== filter.notebook) {
    return false;
  }
  if (filter.words.length === 0) {
    return true;
  }
  const text = `${task.name} ${where(task)} ${task.native_id ?? ''} ${stateWords(task)} ${task.cause} ${task.trouble} ${task.notebook ?? ''} ${task.id}`;
  const lower = text.toLowerCase();
  return filter.words.every(word => lower.includes(word));
}

/** A group is found by what it is; by a state, when one of its members is in it. */
export function isGroupFound(group: Group, filter: Filter): boolean {
  const inState =
    filter.state === 'any' ||
    Object.entries(group.states).some(([state, count]) => count > 0 && isInClass(state as State, filter.state));
  if (!inState || (filter.site !== '' && !group.shares.some(share => share.site === filter.site))) {
    return false;
  }
  if (filter.notebook !== '' && group.notebook.path !== filter.notebook) {
    return false;
  }
  const text = `${group.name} ${placesText(group)} ${groupWord(group)} ${group.cause} ${group.notebook.path ?? ''} ${group.id}`;
  const lower = text.toLowerCase();
  return filter.words.every(word => lower.includes(word));
}

type Top = Extract<Line, { kind: 'task' | 'group' }>;

export function linesOf(given: Given, filter: Filter, order: Order): Line[] {
  const tops: Top[] = given.tasks
    .filter(task => isTaskFound(task, filter))
    .map(task => ({ kind: 'task', id: task.id, task }));
  for (const group of given.groups) {
    if (isGroupFound(group, filter)) {
      tops.push({ kind: 'group', id: group.id, group, open: given.open.has(group.id) });
    }
  }
  sortTops(tops, order, given.now);
  return tops.flatMap(top => (top.kind === 'group' && top.open ? unfolded(top, given, filter) : [top]));
}

function unfolded(top: Top & { kind: 'group' }, given: Given, filter: Filter): Line[] {
  const members = given.members(top.group.id);
  if (members === null) {
    return [top, { kind: 'wait', id: `${top.id}-wait`, group: top.group }];
  }
  const wanted = { ...filter, words: [], notebook: '' };
  const shown = members.filter(member => isTaskFound(member, wanted));
  return [top, ...shown.map(task => ({ kind: 'member' as const, id: task.id, task, group: top.group }))];
}

/** Keys are made once a line, not once a comparison. */
function sortTops(tops: Top[], order: Order, now: number): void {
  const keys = new Map(tops.map(top => [top.id, keyOf(top, order.by, now)]));
  const created = new Map(tops.map(top => [top.id, top.kind === 'task' ? top.task.created_at : top.group.created_at]));
  const sign = order.down ? -1 : 1;
  tops.sort((a, b) => {
    const [one, two] = [keys.get(a.id)!, keys.get(b.id)!];
    if (one !== two) {
      return one < two ? -sign : sign;
    }
    const [first, second] = [created.get(a.id)!, created.get(b.id)!];
    return first < second ? 1 : first > second ? -1 : 0;
  });
}

const CLASS_ORDER: readonly StateClass[] = ['running', 'pending', 'unknown', 'wrong', 'succeeded', 'cancelled'];

function keyOf(top: Top, by: SortBy, now: number): string | number {
  const one = top.kind === 'task' ? top.task : top.group;
  switch (by) {
    case 'submitted':
      return one.created_at;
    case 'name':
      return one.name.toLowerCase();
    case 'state':
      return CLASS_ORDER.indexOf(OF_STATE[top.kind === 'task' ? top.task.state : groupState(top.group)] ?? 'unknown');
    case 'place':
      return (top.kind === 'task' ? where(top.task) : placesText(top.group)).toLowerCase();
    case 'time': {
      const start = top.kind === 'task' ? top.task.started_at : top.group.created_at;
      return secondsBetween(start, one.ended_at ?? now) ?? -1;
    }
  }
}

/** What can be chosen from: the sites and notebooks that occur. */
export function choices(given: Pick<Given, 'tasks' | 'groups'>): { sites: string[]; notebooks: string[] } {
  const sites = new Set<string>();
  const notebooks = new Set<string>();
  for (const task of given.tasks) {
    if (task.site !== null) {
      sites.add(task.site);
    }
    if (task.notebook !== null) {
      notebooks.add(task.notebook);
    }
  }
  for (const group of given.groups) {
    group.shares.forEach(share => sites.add(share.site));
    if (group.notebook.path !== null) {
      notebooks.add(group.notebook.path);
    }
  }
  return { sites: [...sites].sort(), notebooks: [...notebooks].sort() };
}
