/** The stored decision as sentences: the choice, the runner-up and what it lacked, refusals grouped by rule. Pure. */

import type { Candidate, Decision, Verdict } from './api-types';
import { age, counted } from './format';

export interface Refusals {
  readonly rule: string;
  readonly where: readonly string[];
  readonly sentence: string;
}

/** `site:partition` or `site:partition (account)`. */
export function place(candidate: Candidate): string {
  const where = `${candidate.site}:${candidate.partition}`;
  return candidate.account === null ? where : `${where} (${candidate.account})`;
}

/** What speaks against a candidate: its first failing verdict, else its first unknown one. */
export function objection(candidate: Candidate): Verdict | null {
  const first = (answer: string) => candidate.verdicts.find(verdict => verdict.answer === answer);
  return first('fail') ?? first('unknown') ?? null;
}

/** The chosen one first, then feasible ones by rank, then the others as they stand. */
export function ordered(decision: Decision): Candidate[] {
  const chosen = choice(decision);
  const weight = (c: Candidate) => (c === chosen ? -1 : c.feasible ? (c.rank ?? 1e6) : 2e6);
  return decision.candidates
    .map((candidate, index) => ({ candidate, index }))
    .sort((a, b) => weight(a.candidate) - weight(b.candidate) || a.index - b.index)
    .map(each => each.candidate);
}

export function choice(decision: Decision): Candidate | null {
  return decision.chosen === null ? null : (decision.candidates[decision.chosen] ?? null);
}

/** One sentence on the best candidate that was not chosen; empty when there is none. */
export function runnerUp(decision: Decision): string {
  const chosen = choice(decision);
  const next = ordered(decision).find(candidate => candidate !== chosen && candidate.feasible);
  if (next === undefined || chosen === null) {
    return '';
  }
  const lacked = lack(next, chosen);
  return `Runner-up: ${place(next)}${lacked === '' ? ', equal in every fact that was compared' : `, ${lacked}`}.`;
}

function lack(next: Candidate, chosen: Candidate): string {
  const lacks: string[] = [];
  if (chosen.starts_now === true && next.starts_now === false) {
    lacks.push('it would not start at once');
  } else if (chosen.starts_now === true && next.starts_now === null) {
    lacks.push('it is not known to start at once');
  }
  if (next.queue_ahead !== null && next.queue_ahead > (chosen.queue_ahead ?? -1)) {
    lacks.push(`${counted(next.queue_ahead, 'job')} ahead`);
  }
  if (next.record_age_s !== null && next.record_age_s > 2 * (chosen.record_age_s ?? Infinity)) {
    lacks.push(`its facts were ${age(next.record_age_s)} old`);
  }
  return lacks.join(', ');
}

/** Why the others were refused, the most frequent rule first. */
export function refusals(decision: Decision): Refusals[] {
  const groups = new Map<string, { where: string[]; sentence: string }>();
  for (const candidate of decision.candidates) {
    const against = candidate.feasible ? null : objection(candidate);
    if (against !== null) {
      const group = groups.get(against.rule) ?? { where: [], sentence: against.sentence };
      group.where.push(place(candidate));
      groups.set(against.rule, group);
    }
  }
  return [...groups]
    .map(([rule, group]) => ({ rule, ...group }))
    .sort((a, b) => b.where.length - a.where.length);
}
