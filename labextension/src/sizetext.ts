/** A concrete allocation in words. Pure. */

import type { Size } from './api-types';
import { bytes, duration } from './format';

/** `2 nodes × 4 cores, 1 GPU, 32 GB, 4 h`; what is one node or no GPU is left out. */
export function sizeText(size: Size): string {
  const cores = `${size.cpus} core${size.cpus === 1 ? '' : 's'}`;
  const parts = [size.nodes > 1 ? `${size.nodes} nodes × ${cores}` : cores];
  if (size.gpus > 0) {
    parts.push(`${size.gpus} GPU${size.gpus === 1 ? '' : 's'}`);
  }
  if (size.memory_bytes !== null) {
    parts.push(bytes(size.memory_bytes));
  }
  return [...parts, wholeDuration(size.walltime_s)].join(', ');
}

function wholeDuration(seconds: number): string {
  return seconds < 10 ? `${seconds} s` : duration(seconds);
}
