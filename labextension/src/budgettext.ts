/** Standing budgets as people read them, in the words of the terminal. Pure. */

import type { StandingBudget } from './api-types';
import { amount } from './estimatetext';
import { counted } from './format';

const COUNTED: { readonly [unit: string]: string } = { jobs: 'job', bytes: 'byte', tokens: 'model token' };

/** `2 GPU-hours, 3 jobs`: all that it limits; what it does not limit is not named. */
export function allowedSaid(budget: StandingBudget): string {
  const { amounts, jobs, transferred_bytes, model_tokens } = budget.allowance;
  const parts = amounts.length > 0 ? [...amounts] : ['nothing that costs'];
  for (const [limit, noun] of [
    [jobs, 'job'],
    [transferred_bytes, 'byte'],
    [model_tokens, 'model token']
  ] as const) {
    if (limit !== null) {
      parts.push(counted(limit, noun));
    }
  }
  return parts.join(', ');
}

/** `0.5 GPU-hours, 1 job`; `nothing`. */
export function usedSaid(budget: StandingBudget): string {
  const parts = Object.entries(budget.used)
    .filter(([, taken]) => taken > 0)
    .map(([unit, taken]) => {
      const noun = COUNTED[unit];
      return noun === undefined ? charged(taken, unit) : counted(Math.floor(taken), noun);
    });
  return parts.join(', ') || 'nothing';
}

/** Where it holds. */
export function scopeSaid(budget: StandingBudget): string {
  const { agent, channel, site, per } = budget.scope;
  return [
    agent === null ? 'for all agents' : `for ${agent}`,
    ...(channel === null ? [] : [`in ${channel}`]),
    ...(site === null ? [] : [`at ${site}`]),
    per === 'day' ? 'in any 24 hours' : 'in all'
  ].join(', ');
}

function charged(value: number, unit: string): string {
  const said = amount(value);
  return `${said} ${unit}${unit.endsWith('hour') && said !== '1' ? 's' : ''}`;
}
