/** The last day of a partition as a line: the busy share over time, with gaps where it was not known. Pure. */

import type { HistorySeries } from '../api-types';

export interface Point {
  /** 0 is a day ago, 1 is now. */
  readonly at: number;
  /** 0 is idle, 1 is full; null draws a gap. */
  readonly share: number | null;
}

export const DAY_S = 86_400;
/** Readings further apart than this have something unknown between them. */
const GAP = 2.5;

export function sparkPoints(series: HistorySeries, spanS: number, now: number): Point[] {
  const step = Math.max(spanS, 60);
  const points: Point[] = [];
  let before: number | null = null;
  for (const [index, iso] of series.at.entries()) {
    const seconds: number = (now - Date.parse(iso)) / 1000;
    if (!(seconds <= DAY_S && seconds >= -step)) {
      continue;
    }
    const free = series.free[index] ?? null;
    const total = series.total[index] ?? null;
    const share = free === null || total === null || total <= 0 ? null : Math.min(1, Math.max(0, 1 - free / total));
    if (before !== null && before - seconds > GAP * step) {
      points.push({ at: 1 - before / DAY_S, share: null });
    }
    points.push({ at: Math.min(1, 1 - seconds / DAY_S), share });
    before = seconds;
  }
  return points;
}

/** `last day: 20 to 90 % busy, 80 % at its end`. */
export function sparkText(points: readonly Point[]): string {
  const known = points.map(point => point.share).filter((share): share is number => share !== null);
  const newest = known[known.length - 1];
  if (newest === undefined) {
    return 'last day: not known';
  }
  const percent = (share: number) => Math.round(100 * share);
  const [low, high] = [percent(Math.min(...known)), percent(Math.max(...known))];
  const range = low === high ? `${low} % busy` : `${low} to ${high} % busy, ${percent(newest)} % at its end`;
  return `last day: ${range}`;
}
