/** What is said of a group. Pure. jupyter_diamond/notebook/group_words.py says the same; a test compares the two. */

import type { Group, GroupShare, MemberSummary, TaskSummary } from './api-types';
import { clock, count, duration, secondsBetween } from './format';
import type { State } from './words';
import { Sign, stateSign } from './vocabulary';
import { where } from './tasktext';

const ENDED: { readonly [outcome: string]: State } = {
  OK: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TIMEOUT: 'timeout',
  OOM: 'out_of_memory',
  NODE_FAIL: 'node_fail',
  PREEMPTED: 'preempted',
  NEVER_STARTED: 'rejected',
  LOST: 'lost'
};
/** A group that has not ended shows the state of its members that says most: the first of these that one has. */
const TELLING: readonly State[] = [
  'running',
  'completing',
  'staging_out',
  'suspended',
  'configuring',
  'pending',
  'staging_in',
  'submitting',
  'unknown',
  'submit_unknown',
  'waiting'
];
const BAD: readonly State[] = [
  'failed',
  'out_of_memory',
  'timeout',
  'node_fail',
  'preempted',
  'lost',
  'rejected',
  'deadline'
];
const ORDER: readonly State[] = ['completed', ...TELLING, ...BAD, 'cancelled'];
const OVER: ReadonlySet<State> = new Set<State>(['completed', 'cancelled', ...BAD]);
/** So many numbers or ranges are listed of one failure; the rest is counted. */
const MOST_PARTS = 12;

/** Those that ended and not well; cancelled ones are told apart. */
export const WRONG: readonly State[] = BAD;

export function groupState(group: Group): State {
  if (group.phase === 'ENDED') {
    return ENDED[group.outcome ?? 'OK'] ?? 'unknown';
  }
  return TELLING.find(state => (group.states[state] ?? 0) > 0) ?? 'waiting';
}

/** The word of its state; where some members ended well and others did not, it has simply ended. */
export function groupWord(group: Group): string {
  const state = groupState(group);
  if (state === 'cancelled' && group.cancel_requested_by !== null) {
    return `cancelled by ${group.cancel_requested_by}`;
  }
  if (group.held_by !== null && group.phase === 'PENDING') {
    return `held by ${group.held_by}`;
  }
  const mixed = OVER.has(state) && state !== 'completed' && (group.states['completed'] ?? 0) > 0;
  return mixed ? 'ended' : stateSign(state).word;
}

export function endedCount(group: Group): number {
  return ORDER.filter(state => OVER.has(state)).reduce((sum, state) => sum + (group.states[state] ?? 0), 0);
}

/** How many have ended of how many: `37/100`. */
export function progress(group: Group): string {
  return `${endedCount(group)}/${group.members}`;
}

/** How many are in a state, done ones first, then those under way, then what went wrong. */
export function counts(group: Group): { state: State; sign: Sign; count: number }[] {
  return ORDER.filter(state => (group.states[state] ?? 0) > 0).map(state => ({
    state,
    sign: stateSign(state),
    count: group.states[state] ?? 0
  }));
}

/** Members of rounds that have not begun. */
export function later(group: Group): number {
  return group.members - Object.values(group.states).reduce((sum, each) => sum + each, 0);
}

/** `37 succeeded, 60 running, 3 out of memory`; members of later rounds are told, too. */
export function countsText(group: Group): string {
  const parts = counts(group).map(each => `${count(each.count)} ${each.sign.word}`);
  const rest = later(group);
  if (rest > 0) {
    parts.push(`${count(rest)} ${group.phase === 'ENDED' ? 'never sent' : 'in later rounds'}`);
  }
  return parts.join(', ');
}

/** `anvil:shared, delta:cpu · 20 running · 3 failed`: what fits a row of the sidebar. */
export function rowText(group: Group): string {
  const of = (states: readonly State[]) => states.reduce((sum, state) => sum + (group.states[state] ?? 0), 0);
  const running = of(['running', 'completing', 'suspended', 'staging_out']);
  const failed = of(BAD);
  const parts = [
    placesText(group),
    running > 0 ? `${count(running)} running` : '',
    failed > 0 ? `${count(failed)} failed` : '',
    roundsText(group)
  ];
  return parts.filter(part => part !== '').join(' · ');
}

/** `round 1 of 2`; empty for a group in one round. */
export function roundsText(group: Group): string {
  return group.rounds > 1 ? `round ${group.round} of ${group.rounds}` : '';
}

export function shareTotal(share: GroupShare): number {
  return share.waiting + share.running + share.ended;
}

/** `~10 min` while the first ones of a place wait. */
export function shareWait(share: GroupShare): string {
  return share.wait_s !== null && share.waiting > 0 && share.running === 0 ? `~${duration(Math.floor(share.wait_s))}` : '';
}

/** `37/100 anvil:shared ~10 min`: ended of all that are there, and the forecast while its first ones wait. */
export function shareText(share: GroupShare): string {
  const wait = shareWait(share);
  return `${share.ended}/${shareTotal(share)} ${where(share)}${wait === '' ? '' : ` ${wait}`}`;
}

/** The places of a group in a row of the sidebar: `anvil:shared, delta:cpu`. */
export function placesText(group: Group): string {
  return group.shares.map(where).join(', ');
}

/** Why it stopped; that members failed is told by cause already, unless it kept others from being sent. */
export function groupCause(group: Group): string {
  const failed = BAD.some(state => (group.states[state] ?? 0) > 0);
  const told = failed && group.next === '' && later(group) <= 0;
  return [told ? '' : group.cause, group.next].filter(text => text !== '').join(' ');
}

/** What stands at the right of a group's row: the forecast while nothing runs, how long it goes on, or how long it took. */
export function groupTime(group: Group, now: number): string {
  if (group.phase === 'ENDED') {
    const took = secondsBetween(group.created_at, group.ended_at);
    return took === null ? '' : duration(Math.floor(took));
  }
  const waits = group.shares.filter(share => share.wait_s !== null).map(share => share.wait_s as number);
  if (group.phase === 'PENDING' && waits.length > 0) {
    return `~${duration(Math.floor(Math.min(...waits)))}`;
  }
  return clock(secondsBetween(group.created_at, now) ?? 0);
}

/** Numbers as ranges: `4, 17-18`; a long list is cut, and what is left counted. */
export function ranges(numbers: readonly number[], most = MOST_PARTS): string {
  const parts: [number, number][] = [];
  for (const each of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = parts[parts.length - 1];
    if (last !== undefined && each === last[1] + 1) {
      last[1] = each;
    } else {
      parts.push([each, each]);
    }
  }
  const left = parts.slice(most).reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const said = parts.slice(0, most).map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return said.join(', ') + (left > 0 ? ` and ${count(left)} more` : '');
}

export interface Failure {
  readonly word: string;
  readonly cause: string;
  readonly indices: readonly number[];
}

/** Members that ended and not well, by cause, most first. Causes that differ in numbers only are one. */
export function failures(members: readonly TaskSummary[]): Failure[] {
  const found = new Map<string, TaskSummary[]>();
  for (const member of members.filter(each => BAD.includes(each.state))) {
    const kind = `${member.state} ${member.cause.replace(/[0-9]+(?:[.,:][0-9]+)*/g, '#')}`;
    found.set(kind, [...(found.get(kind) ?? []), member]);
  }
  return [...found.values()]
    .map(same => ({
      word: stateSign(same[0]!.state).word,
      cause: same[0]!.cause,
      indices: same.map(each => each.index ?? 0)
    }))
    .sort((a, b) => b.indices.length - a.indices.length || a.indices[0]! - b.indices[0]!);
}

/** `3 of 100 out of memory: 4, 17-18.` */
export function failureText(failure: Failure, members: number): string {
  return `${count(failure.indices.length)} of ${count(members)} ${failure.word}: ${ranges(failure.indices)}.`;
}

/** `lr=0.001 seed=3`: what a member is given. */
export function paramsText(params: MemberSummary['params']): string {
  return Object.entries(params)
    .map(([name, value]) => `${name}=${value === null ? 'None' : String(value)}`)
    .join(' ');
}

/** What may be looked for in a list of members: number, state, place, what it is given, why it ended. */
export function memberWords(member: MemberSummary): string {
  const words = [`${member.index}`, stateSign(member.state).word, where(member), paramsText(member.params), member.cause];
  return words.join(' ').toLowerCase();
}

/** `sweep: 97 succeeded, 3 out of memory, after 2 h.` */
export function groupEndedSentence(group: Group): string {
  const took = secondsBetween(group.created_at, group.ended_at);
  const after = took === null ? '' : `, after ${duration(Math.floor(took))}`;
  return `${group.name}: ${countsText(group)}${after}.`;
}
