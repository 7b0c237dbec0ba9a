/** A concrete allocation in words. Pure. */

import type { Size } from './api-types';
import { bytes, counted, limit } from './format';

/** `2 nodes × 4 cores, 1 GPU, 32 GB, 4 h`; what is one node or no GPU is left out. */
export function sizeText(size: Size): string {
  const cores = counted(size.cpus, 'core');
  const parts = [size.nodes > 1 ? `${size.nodes} nodes × ${cores}` : cores];
  if (size.gpus > 0) {
    parts.push(counted(size.gpus, 'GPU'));
  }
  if (size.memory_bytes !== null) {
    parts.push(bytes(size.memory_bytes));
  }
  return [...parts, limit(size.walltime_s)].join(', ');
}
