/** What the idle finder shows of the server's answer: filtered by what only the page knows, the freest first. Pure. */

import type { Idle, IdlePlace, SiteReading } from '../api-types';
import { UNKNOWN, bytes, count, counted, limit } from '../format';

export interface Filters {
  /** At most so many jobs wait there; empty: any. */
  readonly pending: string;
  /** `ssh`, `globus-compute`, `local`; empty: any. */
  readonly transport: string;
}

/** Those that pass; the freest first, by GPUs where there are any. */
export function found(idle: Idle, sites: readonly SiteReading[], filters: Filters): IdlePlace[] {
  const ways = new Map(sites.map(site => [site.site, site.transport]));
  const most = mostOf(filters.pending);
  return idle.places
    .filter(place => filters.transport === '' || ways.get(place.site) === filters.transport)
    // a queue that is not known is not short
    .filter(place => most === null || (place.pending !== null && place.pending <= most))
    .sort((a, b) => (b.gpus_free ?? 0) - (a.gpus_free ?? 0) || b.jobs_now - a.jobs_now);
}

/** Null where there is no limit, or what is written is no number. */
export function mostOf(text: string): number | null {
  return /^\s*\d{1,9}\s*$/.test(text) ? Number(text) : null;
}

export function wrongPending(text: string): string {
  return text.trim() === '' || mostOf(text) !== null ? '' : `“${text}” is no number of jobs; write for example 10.`;
}

/** `a100 40 GB`; `?` where a partition has GPUs that nobody names. */
export function kindText(place: IdlePlace): string {
  if (place.size.gpus === 0 && (place.gpus_free ?? 0) === 0 && place.gpu_model === null) {
    return '–';
  }
  const memory = place.gpu_memory_bytes === null ? '' : ` ${bytes(place.gpu_memory_bytes)}`;
  return `${place.gpu_model ?? UNKNOWN}${memory}`;
}

export function capText(place: IdlePlace): string {
  const cap = place.walltime_cap_s;
  return cap === null ? UNKNOWN : typeof cap === 'number' ? limit(cap) : 'no limit';
}

/** All that is known of it, for whoever asks. */
export function details(place: IdlePlace): string[] {
  return [
    `${counted(place.jobs_now, 'such job')} could start now`,
    `${count(place.cpus_free)} cores free`,
    place.memory_free_bytes === null ? '' : `${bytes(place.memory_free_bytes)} of memory free`,
    place.nodes_usable === null ? '' : `${counted(place.nodes_usable, 'node')} usable`,
    `longest job ${capText(place)}`,
    place.account === null ? '' : `account ${place.account}`
  ].filter(line => line !== '');
}
