/** What a partition's row says. Pure. */

import type { Record as Partition } from './api-types';
import { UNKNOWN, compact, count } from './format';

/** The resource that decides whether work can start: GPUs where there are any, else cores. */
export interface Gate {
  readonly unit: 'GPU' | 'CPU';
  readonly free: number | null;
  readonly total: number | null;
  readonly busy: number | null;
}

export function gate(partition: Partition): Gate {
  const hasGpus = (partition.gpus_total ?? 0) > 0 || partition.shapes.some(shape => (shape.gpus ?? 0) > 0);
  const [free, total] = hasGpus
    ? [partition.gpus_free, partition.gpus_total]
    : [partition.cpus_free, partition.cpus_total];
  const busy = free === null || total === null ? null : Math.max(0, total - free);
  return { unit: hasGpus ? 'GPU' : 'CPU', free, total, busy };
}

/** `6 GPU free`, `190 free`, `? free`: cores go without saying, the row's tooltip says them. */
export function freeText({ unit, free }: Gate): string {
  return unit === 'GPU' ? `${compact(free)} GPU free` : `${compact(free)} free`;
}

/** For a screen reader and a tooltip: `26 of 32 GPUs busy`. */
export function busyText({ unit, busy, total }: Gate): string {
  if (busy === null || total === null) {
    return `busy ${unit}s unknown`;
  }
  return `${count(busy)} of ${count(total)} ${unit}s busy`;
}

/** The exact figures, one a line, for the row's tooltip. */
export function exactFigures(partition: Partition, read: string): string {
  const of = (free: number | null, total: number | null) => `${count(free)} of ${count(total)}`;
  const lines = [
    `${partition.partition}${partition.default ? ' (default)' : ''}, state ${partition.state}`,
    `CPUs free: ${of(partition.cpus_free, partition.cpus_total)}`,
    `GPUs free: ${of(partition.gpus_free, partition.gpus_total)}`,
    `nodes usable: ${of(partition.nodes_usable, partition.nodes_total)}`,
    `pending: ${count(partition.pending)}, running: ${count(partition.running)}`
  ];
  if (partition.mine_pending !== null || partition.mine_running !== null) {
    lines.push(`yours: ${partition.mine_pending ?? UNKNOWN} pending, ${partition.mine_running ?? UNKNOWN} running`);
  }
  for (const share of partition.gpu_shares) {
    lines.push(`${share.kind === 'mps' ? 'MPS shares' : 'shards'} free: ${of(share.free, share.total)}`);
  }
  lines.push(...partition.caps.map(cap => cap.sentence));
  return [...lines, `read ${read}`].join('\n');
}
