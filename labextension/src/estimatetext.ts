/** An estimate as people say it: a wait with its band, the terms that add up, what it costs. Pure. */

import type { Candidate, Estimate, Forecast } from './api-types';
import { UNKNOWN, limit } from './format';

const HOUR = 3600;
const DAY = 86400;

/** Only as exact as a forecast is, e.g. `40 s`, `10 min`, `2 h 31 min`, `1 d 4 h`. */
export function about(seconds: number): string {
  const step = seconds < 60 ? 1 : seconds < 6 * HOUR ? 60 : seconds < DAY ? 300 : HOUR;
  return limit(Math.floor(seconds / step + 0.5) * step);
}

/** `now`, `in about 10 min (5-25)`, `in more than 2 d`; `?` where nothing is known. */
export function starts(forecast: Forecast): string {
  const wait = forecast.wait_s;
  if (wait === null) {
    return UNKNOWN;
  }
  if (forecast.beyond) {
    return `in more than ${about(wait)}`;
  }
  const said = wait < 1 ? 'now' : `in about ${about(wait)}`;
  return band(forecast) === '' ? said : `${said} (${band(forecast)})`;
}

/** `5-25` where all of it is minutes, else `30 min to 2 h`; empty where no recorded outcomes tell. */
export function band(forecast: Forecast): string {
  const { wait_s: wait, low_s: low, high_s: high } = forecast;
  if (wait === null || low === null || high === null || about(low) === about(high)) {
    return '';
  }
  if (wait < 1) {
    return `within ${about(high)}`;
  }
  if ([wait, high].every(each => each >= 60 && each < HOUR - 30) && (low < 1 || low >= 60)) {
    return `${Math.floor(low / 60 + 0.5)}-${Math.floor(high / 60 + 0.5)}`;
  }
  return `${about(low)} to ${about(high)}`;
}

/** When a candidate would start; a decision that is older than forecasts tells only whether it is now. */
export function startsOf(candidate: Candidate): string {
  if (candidate.size === null) {
    return '-';
  }
  if (candidate.estimate !== null) {
    return starts(candidate.estimate.forecast);
  }
  return candidate.starts_now === null ? UNKNOWN : candidate.starts_now ? 'now' : 'later';
}

/** A charge: whole from 10 on, else with its first two digits, e.g. `1,240`, `3.5`, `0.04`. */
export function amount(value: number): string {
  if (value >= 10) {
    return Math.floor(value + 0.5).toLocaleString('en-US');
  }
  const decimals = Math.min(value >= 1 || value <= 0 ? 1 : 1 - Math.floor(Math.log10(value)), 6);
  const scale = 10 ** decimals;
  const text = (Math.floor(value * scale + 0.5) / scale).toFixed(decimals);
  return text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text;
}

/** `about 4 SU, at most 8`, `at most 8 SU`; `?` where it is not known. */
export function charge(estimate: Estimate | null): string {
  if (estimate === null || estimate.charge === null) {
    return UNKNOWN;
  }
  const { charge_unit: unit, charge_at_most: most } = estimate;
  const number = amount(estimate.charge);
  const plural = unit.endsWith('hour') && number !== '1' ? 's' : '';
  const said = `${number} ${unit}${plural}`.trimEnd();
  return most === null || amount(most) === number
    ? `at most ${said}`
    : `about ${said}, at most ${amount(most)}`;
}

/** What is added up, e.g. `10 min wait + 2 h run + 40 min to move data = 2 h 50 min`. */
export function terms(estimate: Estimate): string {
  const { wait_s: wait, beyond } = estimate.forecast;
  if (wait === null) {
    return 'when it would start is not known';
  }
  const more = beyond ? 'more than ' : '';
  const parts = [wait >= 1 ? `${more}${about(wait)} wait` : 'no wait'];
  if (estimate.run_s !== null) {
    parts.push(`${about(estimate.run_s)} run${estimate.run_assumed ? ' (assumed)' : ''}`);
  }
  for (const [seconds, what] of [[estimate.prepare_s, 'get ready'], [estimate.transfer_s, 'move data']] as const) {
    if (seconds !== null && seconds >= 1) {
      parts.push(`${about(seconds)} to ${what}`);
    }
  }
  const total = parts.length > 1 && estimate.total_s !== null ? ` = ${more}${about(estimate.total_s)}` : '';
  const unsaid = estimate.run_s === null ? '; how long it runs was not said' : '';
  return `${parts.join(' + ')}${total}${unsaid}`;
}

/** `done 30 min later`, `done 5 min sooner`, `done at the same time`; empty where it is not known. */
export function later(candidate: Candidate, chosen: Candidate): string {
  const ours = candidate.estimate?.total_s ?? null;
  const theirs = chosen.estimate?.total_s ?? null;
  if (ours === null || theirs === null) {
    return '';
  }
  const apart = ours - theirs;
  return Math.abs(apart) < 1 ? 'done at the same time' : `done ${about(Math.abs(apart))} ${apart > 0 ? 'later' : 'sooner'}`;
}
