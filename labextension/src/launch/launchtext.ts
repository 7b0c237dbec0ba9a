/** What the sheet says of where it would go, and of a draft. Pure. */

import type { Candidate, Decision, Draft } from '../api-types';
import { charge, later, terms } from '../estimatetext';
import { choice, objection, ordered, saidOf } from '../explain';
import { UNKNOWN } from '../format';
import type { Values } from './fields';

/** How many places are shown. */
const SHOWN = 3;

/** The best places: those that can take it, and where these are few, the first that cannot. */
export function best(decision: Decision): Candidate[] {
  return ordered(decision).slice(0, SHOWN);
}

/** The first reason against a place that was not chosen; what it takes, for the one that was. */
export function reason(candidate: Candidate, decision: Decision): string {
  const chosen = choice(decision);
  const against = candidate.feasible ? null : objection(candidate);
  if (against !== null) {
    return saidOf(against);
  }
  if (candidate === chosen || chosen === null) {
    return candidate.estimate === null ? '' : terms(candidate.estimate);
  }
  const apart = later(candidate, chosen);
  return apart !== '' ? apart : candidate.estimate === null ? 'ranked behind' : terms(candidate.estimate);
}

/** What the chosen place would charge; empty where none was chosen. */
export function chargeNow(decision: Decision | null): string {
  const chosen = decision === null ? null : choice(decision);
  if (chosen === null) {
    return '';
  }
  const said = charge(chosen.estimate);
  return said === UNKNOWN ? 'charge not known' : said;
}

export interface Refusal {
  readonly sentence: string;
  /** What would pass, as the field's text; empty where the field alone does not help. */
  readonly change: string;
}

/** Where nothing can take it: what a field would have to say, beside that field. The change that lets it in somewhere. */
export function refusedFields(decision: Decision | null): ReadonlyMap<string, Refusal> {
  const found = new Map<string, Refusal>();
  if (decision === null || decision.chosen !== null) {
    return found;
  }
  for (const candidate of decision.candidates) {
    const against = objection(candidate);
    const [, option, change] = /^--([a-z-]+) (\S+)$/.exec(against?.change ?? '') ?? [];
    if (against !== null && option !== undefined && change !== undefined && !found.has(option)) {
      found.set(option, { sentence: `${candidate.site}:${candidate.partition}: ${saidOf(against)}`, change });
    }
  }
  return found;
}

export interface Difference {
  readonly option: string;
  readonly before: string;
  readonly after: string;
  readonly why: string;
  readonly source: string;
}

const SOURCES = { rules: 'our rules', model: 'the model', history: 'what it took before' } as const;

export function sourceWords(source: Draft['source']): string {
  return SOURCES[source];
}

/** What a draft would change in the fields, option by option. A flag is `yes`. */
export function differences(values: Values, draft: Draft): Difference[] {
  return Object.entries(draft.options)
    .map(([option, text]) => ({ option, before: (values[option] ?? '').trim(), after: text === '' ? 'yes' : text }))
    .filter(({ before, after }) => before !== after)
    .map(each => {
      const why = draft.reasons.find(reason => reason.field.replace(/_/g, '-') === each.option);
      const evidence = why === undefined || why.evidence === '' ? '' : ` (${why.evidence})`;
      return {
        ...each,
        why: why === undefined ? '' : `${why.sentence}${evidence}`,
        source: sourceWords(why?.source ?? draft.source)
      };
    });
}
