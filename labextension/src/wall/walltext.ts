/** What the wall says beyond the sidebar's rows: waits, what was spent, what comes up; and what it shows first. Pure. */

import type { Charges, Outlook, OutlookPlace, SiteReading } from '../api-types';
import { amount, starts } from '../estimatetext';
import { UNKNOWN, age, counted } from '../format';
import type { Row } from '../sitefacts';

/** Where the wait is looked up: by site and partition, which are both foreign text. */
export function placeKey(site: string, partition: string): string {
  return JSON.stringify([site, partition]);
}

export function byPlace(outlook: Outlook | null): ReadonlyMap<string, OutlookPlace> {
  return new Map((outlook?.places ?? []).map(place => [placeKey(place.site, place.partition), place]));
}

/** `now`, `~70 min (35-175)`, `> 2 d`; `–` where such a job may not run; `?` where the wait is not known. */
export function waitText(place: OutlookPlace | null): string {
  const forecast = place?.forecast ?? null;
  if (forecast === null || forecast.wait_s === null) {
    return place !== null && place.why !== '' ? '–' : UNKNOWN;
  }
  const { wait_s: wait, low_s: low, high_s: high, beyond } = forecast;
  const unit = UNITS.find(each => Math.max(wait, high ?? 0) < each.below) ?? UNITS[UNITS.length - 1]!;
  const said = (seconds: number) => number(seconds / unit.seconds);
  if (beyond) {
    return `> ${said(wait)} ${unit.word}`;
  }
  if (wait < 1) {
    return high === null || high < 1 ? 'now' : `now (< ${said(high)} ${unit.word})`;
  }
  const band = low === null || high === null || said(low) === said(high) ? '' : ` (${said(low)}-${said(high)})`;
  return `~${said(wait)} ${unit.word}${band}`;
}

/** One unit for a wait and its band, so that three numbers compare at a glance. */
const UNITS = [
  { below: 120, seconds: 1, word: 's' },
  { below: 3 * 3600, seconds: 60, word: 'min' },
  { below: 2 * 86_400, seconds: 3600, word: 'h' },
  { below: Number.MAX_VALUE, seconds: 86_400, word: 'd' }
] as const;

function number(value: number): string {
  return value < 9.95 && Math.round(10 * value) % 10 !== 0 ? value.toFixed(1) : String(Math.round(value));
}

/** The whole of it, for whoever points at it. */
export function waitTitle(place: OutlookPlace | null): string {
  if (place === null) {
    return 'The wait has not been forecast yet.';
  }
  const asked = `${place.unit === 'GPU' ? '1 GPU' : '1 core'}, 1 h`;
  if (place.forecast === null) {
    return `${asked}: ${place.why === '' ? 'nobody can say when it would start.' : place.why}`;
  }
  const { because } = place.forecast;
  return `${asked}: starts ${starts(place.forecast)}${because === '' ? '' : `, ${because}`}.`;
}

export interface SpentLine {
  readonly value: string;
  readonly label: string;
  readonly title: string;
}

/** What the last day took of what it may take, one line a unit: charges of two units are never added up. */
export function spentLines(charges: Charges): SpentLine[] {
  const capped = charges.caps.filter(each => each.cap.scope === 'day');
  if (capped.length > 0) {
    return capped.map(({ cap, spent, reserved, unknown }) => ({
      value: `${amount(spent + reserved)} / ${amount(cap.amount)}`,
      label: `${cap.unit} spent today`,
      title: [
        `${amount(spent)} ${cap.unit} charged and ${amount(reserved)} reserved in the last 24 hours, of ${amount(cap.amount)} that you allow`,
        unknown > 0 ? `the charge of ${counted(unknown, 'attempt')} is not known` : ''
      ]
        .filter(line => line !== '')
        .join('\n')
    }));
  }
  const units = new Map<string, { taken: number; unknown: number }>();
  for (const row of charges.accounts) {
    const before = units.get(row.unit) ?? { taken: 0, unknown: 0 };
    const taken = (row.actual ?? 0) + (row.reserved ?? 0);
    units.set(row.unit, { taken: before.taken + taken, unknown: before.unknown + row.unknown });
  }
  return [...units]
    .filter(([unit]) => unit !== '')
    .map(([unit, { taken, unknown }]) => ({
      value: `${unknown > 0 ? '≥ ' : ''}${amount(taken)}`,
      label: `${unit} spent today`,
      title: `charged and reserved in the last 24 hours; no daily cap is set (c.DiamondBudget.caps)`
    }));
}

/** `A reservation takes 8 free nodes in 3 h.`; empty where none is known of. */
export function reservationText(site: SiteReading, now: number): string {
  const read = site.read_at === null ? null : Date.parse(site.read_at);
  if (read === null) {
    return '';
  }
  const nodes = site.records.flatMap(record => record.free_nodes).filter(node => node.free_for_s !== null);
  if (nodes.length === 0) {
    return '';
  }
  const soonest = Math.min(...nodes.map(node => node.free_for_s ?? 0));
  const many = Math.max(
    ...site.records.map(record =>
      record.free_nodes.filter(node => node.free_for_s !== null).reduce((sum, node) => sum + node.nodes, 0)
    )
  );
  const left = soonest - Math.max(0, (now - read) / 1000);
  const when = left <= 0 ? 'now' : `in ${age(left)}`;
  return `A reservation takes ${counted(many, 'free node')} ${when}: only shorter jobs start there before it.`;
}

export const SORTS = {
  given: 'as configured',
  free: 'most free GPUs first',
  wait: 'shortest wait first',
  queue: 'shortest queue first',
  busy: 'least busy first'
} as const;
export type Sort = keyof typeof SORTS;

/** More cores than any site has. */
const GPUS_FIRST = 1e8;

/** A smaller number stands first; what is not known stands last. */
export function rank(row: Row, place: OutlookPlace | null, sort: Sort): number {
  const last = Number.MAX_VALUE;
  switch (sort) {
    case 'given':
      return 0;
    case 'free':
      return row.open && row.free !== null ? -row.free * (row.unit === 'GPU' ? GPUS_FIRST : 1) : last;
    case 'wait':
      return place?.forecast?.wait_s ?? last;
    case 'queue':
      return row.open && row.pending !== null ? row.pending : last;
    case 'busy':
      return row.open && row.busy !== null && row.total ? row.busy / row.total : last;
  }
}

/** The words that have to be found, whatever their case. */
export function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '');
}

/** What a row can be found by: its site, its own name, its kind of GPU, its state. */
export function isFound(words: readonly string[], site: SiteReading, row: Row): boolean {
  const text = `${site.site} ${site.transport} ${site.scheduler} ${row.name} ${row.kind} ${row.unit}s ${row.state}`;
  const lower = text.toLowerCase();
  return words.every(word => lower.includes(word));
}
