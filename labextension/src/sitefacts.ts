/**
 * What a site, a partition and the whole pool say. Pure.
 * jupyter_diamond/notebook/wall_view.py says the same on the notebook's wall; a test compares the two word by word.
 */

import type { Cap, Record as Partition, SiteReading, Snapshot } from './api-types';
import { UNKNOWN, bytes, compact, count, counted, limit, moment, secondsBetween } from './format';
import { healthSign, transportWord } from './vocabulary';

/** Seconds after which numbers are not counted as free: placement does not take them either. */
export const USABLE_S = 600;

/** One partition. */
export interface Row {
  readonly name: string;
  readonly open: boolean;
  readonly state: string;
  /** The resource that decides whether work can start: GPUs where there are any, else cores. */
  readonly unit: 'GPU' | 'core';
  /** What a job could really get there. */
  readonly free: number | null;
  readonly total: number | null;
  readonly busy: number | null;
  readonly pending: number | null;
  readonly mine_running: number | null;
  readonly mine_pending: number | null;
  readonly cap: string;
  readonly kind: string;
  readonly facts: readonly string[];
}

/** GPUs where there are any, else cores. */
function gatingUnit(record: Partition): Row['unit'] {
  const hasGpus = (record.gpus_total ?? 0) > 0 || record.shapes.some(shape => (shape.gpus ?? 0) > 0);
  return hasGpus ? 'GPU' : 'core';
}

export function rowOf(record: Partition): Row {
  const unit = gatingUnit(record);
  const [free, total] = unit === 'GPU' ? [record.gpus_free, record.gpus_total] : [record.cpus_free, record.cpus_total];
  return {
    name: record.partition,
    open: record.state === 'up' || record.state === 'unknown',
    state: record.state,
    unit,
    free,
    total,
    busy: free === null || total === null ? null : Math.max(0, total - free),
    pending: record.pending,
    mine_running: record.mine_running,
    mine_pending: record.mine_pending,
    cap: limitText(record),
    kind: kindText(record),
    facts: rowFacts(record)
  };
}

/** Rows of a site, as its scheduler orders them. */
export function rowsOf(site: SiteReading): Row[] {
  return site.records.filter(record => !record.hidden).map(rowOf);
}

/** The walltime cap: `2 d`, `none`, `?`. */
function capText(cap: Partition['walltime_cap_s']): string {
  return cap === 'no_limit' ? 'none' : cap === null ? UNKNOWN : limit(cap);
}

/** The time limit, and how much of the gating resource one user may have: `2 d · 8 GPUs`. */
function limitText(record: Partition): string {
  const unit = gatingUnit(record);
  const longest = record.walltime_cap_s;
  const mine = least(record, 'walltime_s');
  const time = mine === null ? longest : typeof longest === 'number' ? Math.min(mine, longest) : mine;
  const amount = least(record, unit === 'GPU' ? 'gpus' : 'cpus');
  return capText(time) + (amount === null ? '' : ` · ${counted(amount, unit)}`);
}

/** The smallest limit on it that holds for the whole partition; null when there is none. */
function least(record: Partition, on: Cap['on']): number | null {
  const amounts = record.caps.filter(cap => cap.on === on && !cap.least && onAll(cap, record)).map(cap => cap.amount);
  return amounts.length === 0 ? null : Math.min(...amounts);
}

/** A limit on one kind of GPU counts them all where there is no other kind. */
function onAll(cap: Cap, record: Partition): boolean {
  const kind = cap.gpu_model?.toLowerCase() ?? null;
  const models = record.shapes.filter(shape => shape.gpus !== 0).map(shape => (shape.gpu_model ?? '').toLowerCase());
  return kind === null || (models.length > 0 && models.every(model => model === kind));
}

/** Kind and memory of its GPUs, where they are known: `a100 40 GB`. */
function kindText(record: Partition): string {
  const kinds = record.shapes
    .filter(shape => (shape.gpus ?? 0) > 0 && shape.gpu_model)
    .map(({ gpu_model, gpu_memory_bytes }) => (gpu_memory_bytes ? `${gpu_model} ${bytes(gpu_memory_bytes)}` : gpu_model));
  return [...new Set(kinds)].join(', ');
}

function rowFacts(record: Partition): string[] {
  const kind = kindText(record);
  const memory = record.memory_free_bytes === null ? UNKNOWN : bytes(record.memory_free_bytes);
  return [
    `${count(record.gpus_free)} of ${count(record.gpus_total)} GPUs free${kind === '' ? '' : `, ${kind}`}`,
    `${count(record.cpus_free)} of ${count(record.cpus_total)} cores free`,
    `${memory} of memory free`,
    `${count(record.nodes_usable)} of ${count(record.nodes_total)} nodes usable`,
    `${count(record.running)} running, ${count(record.pending)} pending`,
    `yours: ${count(record.mine_running)} running, ${count(record.mine_pending)} pending`,
    `limit ${capText(record.walltime_cap_s)}${record.whole_node === true ? ', whole nodes only' : ''}`,
    `state ${record.state}${record.default ? ', the default' : ''}`,
    ...record.gpu_shares.map(({ kind, free, total }) => `${count(free)} of ${count(total)} ${SHARES[kind]} free`),
    ...record.caps.map(cap => cap.sentence),
    ...heldOut(record)
  ];
}

const SHARES = { shard: 'shards', mps: 'MPS shares' } as const;

/** Who may not use it, and what only some may. */
function heldOut({ door }: Partition): string[] {
  const lists: [string, readonly string[]][] =
    door === null
      ? []
      : [
          ['accounts', door.allow_accounts],
          ['all accounts but', door.deny_accounts],
          ['QOS', door.allow_qos],
          ['all QOS but', door.deny_qos]
        ];
  return lists.filter(([, names]) => names.length > 0).map(([who, names]) => `for ${who} ${names.join(', ')}`);
}

/** `6 GPUs`, `190 cores`, `? GPUs`; the state's word where it takes no jobs. */
export function freeText(row: Row): string {
  return row.open ? `${compact(row.free)} ${row.unit}${row.free === 1 ? '' : 's'}` : row.state;
}

/** `1● 2○`: yours that run and that wait; empty when there are none. */
export function mineText(row: Row): string {
  const parts: [number | null, string][] = [[row.mine_running, '●'], [row.mine_pending, '○']];
  return parts
    .filter(([jobs]) => jobs !== 0)
    .map(([jobs, mark]) => `${compact(jobs)}${mark}`)
    .join(' ');
}

/** For a screen reader: `26 of 32 GPUs busy`. */
export function busyText({ open, unit, busy, total }: Row): string {
  const known = open && busy !== null && total !== null;
  return known ? `${count(busy)} of ${count(total)} ${unit}s busy` : `busy ${unit}s not known`;
}

/** How a site is reached and what it speaks: `ssh · slurm`. */
export function meansText(site: SiteReading): string {
  if (site.simulated) {
    return 'simulated';
  }
  return [transportWord(site.transport), site.scheduler].filter(word => word !== '').join(' · ');
}

/** What is known of a site besides its rows, one fact a line. */
export function siteTitle(site: SiteReading): string {
  const accounting = site.accounting === null ? '' : site.accounting ? 'accounting answers' : 'no accounting';
  const facts = [
    site.scheduler_version ? `${site.scheduler} ${site.scheduler_version}` : '',
    site.cluster ? `cluster ${site.cluster}` : '',
    site.user ? `you are ${site.user}` : '',
    accounting,
    site.machine ? `known machine: ${site.machine}` : '',
    `GPUs free: ${count(site.gpus_free)} of ${count(site.gpus_total)}, each counted once`,
    `cores free: ${count(site.cpus_free)} of ${count(site.cpus_total)}, each counted once`,
    site.probe_s === null ? '' : `read in ${(Math.floor(site.probe_s * 10) / 10).toFixed(1)} s`,
    site.unreadable.length === 0 ? '' : `${counted(site.unreadable.length, 'line')} could not be read`,
    ...site.notes
  ];
  return facts.filter(fact => fact !== '').join('\n');
}

/** ` Since 14:02; tried again at 14:06.` behind what is wrong; empty for a site that answers. */
export function outageText(site: SiteReading, now: number): string {
  const { failing_since: since, next_try_at: next } = site;
  const again = next !== null && Date.parse(next) > now ? `; tried again at ${moment(next, now)}` : '';
  return since === null ? '' : ` Since ${moment(since, now)}${again}.`;
}

/** A sum over all sites. Sites whose part is not known, or too old, are named, never counted as zero. */
export interface Sum {
  readonly label: string;
  readonly value: number | null;
  readonly without: readonly string[];
}

const SUMS = [
  ['free GPUs', 'gpus_free'],
  ['free cores', 'cpus_free'],
  ['running', 'running'],
  ['pending', 'pending']
] as const;

/** The four sums. Simulated sites are left out, unless there are no others. */
export function sums(snapshot: Snapshot, now: number): { sums: Sum[]; simulated: boolean } {
  const real = snapshot.sites.filter(site => !site.simulated);
  const counted = real.length > 0 ? real : snapshot.sites;
  return {
    simulated: real.length === 0 && counted.length > 0,
    sums: SUMS.map(([label, field]) => {
      const told = counted.filter(site => counts(site, now) && site[field] !== null);
      return {
        label,
        value: told.length === 0 ? null : told.reduce((sum, site) => sum + (site[field] ?? 0), 0),
        without: counted.filter(site => !told.includes(site)).map(site => site.site)
      };
    })
  };
}

function counts(site: SiteReading, now: number): boolean {
  const seconds = secondsBetween(site.read_at, now);
  return seconds !== null && seconds <= USABLE_S && (site.health === 'online' || site.health === 'degraded');
}

/** `18`, `≥ 18` when a site did not tell its part, `?` when none did. */
export function sumText({ value, without }: Sum): string {
  return value === null ? UNKNOWN : `${without.length > 0 ? '≥ ' : ''}${count(value)}`;
}

/** The real ones first, as on the wall. */
export function inOrder(sites: readonly SiteReading[]): SiteReading[] {
  return [...sites].sort((a, b) => Number(a.simulated) - Number(b.simulated));
}

/** What a site is called for and how it stands, in the words of the wall. */
export function siteView(site: SiteReading): { means: string; word: string; tone: string; title: string } {
  const { word, tone } = healthSign(site.health);
  return { means: meansText(site), word, tone, title: siteTitle(site) };
}
