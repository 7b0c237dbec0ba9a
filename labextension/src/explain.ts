/** The stored decision as sentences: the choice, the runner-up and what it lacked, refusals grouped by rule. Pure. */

import type { Candidate, Decision, Verdict } from './api-types';
import { charge, later, terms } from './estimatetext';
import { UNKNOWN, age, counted } from './format';

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

/** What speaks against a candidate: its first failing verdict, else its first unknown one. Wishes refuse nothing. */
export function objection(candidate: Candidate): Verdict | null {
  const first = (answer: string) => candidate.verdicts.find(verdict => verdict.answer === answer && !verdict.soft);
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
  if (next.estimate !== null && chosen.estimate !== null) {
    return `Runner-up: ${place(next)}: ${estimated(next, chosen)}.`;
  }
  const lacked = lack(next, chosen);
  return `Runner-up: ${place(next)}${lacked === '' ? ', equal in every fact that was compared' : `, ${lacked}`}.`;
}

/** Its terms, how much later it would be done, and what it costs. */
function estimated(next: Candidate, chosen: Candidate): string {
  const cost = charge(next.estimate);
  const said = [next.estimate === null ? '' : terms(next.estimate), later(next, chosen), cost === UNKNOWN ? '' : cost];
  return said.filter(part => part !== '').join('; ');
}

/** Who is as good as the choice by the objective, and what decided; empty where nobody is. */
export function tied(decision: Decision): string {
  const equals = decision.ties.flatMap(at => decision.candidates[at] ?? []).map(place);
  if (equals.length > 0) {
    return `Equal by the objective: ${equals.join(', ')}; decided ${decision.tie_break}.`;
  }
  return decision.tie_break === '' ? '' : `Others are equal by the objective, decided ${decision.tie_break}.`;
}

/** For what it was decided: `for earliest completion`, `for random (seed 7)`. */
export function goal(decision: Decision): string {
  const seed = decision.seed === null ? '' : ` (seed ${decision.seed})`;
  return `for ${decision.objective.replace(/_/g, ' ')}${seed}`;
}

/** It is about what the user would like; whether it fits now is soft, too, but a fact. */
export function isWish(verdict: Verdict): boolean {
  return verdict.soft && verdict.rule !== 'capacity now';
}

/** A verdict's sentence with the smallest change that would pass, once. */
export function saidOf(verdict: Verdict): string {
  const { change, sentence } = verdict;
  return change === '' || sentence.includes(change) ? sentence : `${sentence} It would pass with ${change}.`;
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
      const group = groups.get(against.rule) ?? { where: [], sentence: saidOf(against) };
      group.where.push(place(candidate));
      groups.set(against.rule, group);
    }
  }
  return [...groups]
    .map(([rule, group]) => ({ rule, ...group }))
    .sort((a, b) => b.where.length - a.where.length);
}
