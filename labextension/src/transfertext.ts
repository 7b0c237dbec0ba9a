/** What a transfer's row says. Pure. jupyter_diamond/notebook/data_words.py says the same; a test compares the two. */

import type { Location, Progress, Transfer, TransferRequest } from './api-types';
import { bytes, count, counted, duration } from './format';
import { transferSign } from './vocabulary';

const ENDED: readonly string[] = ['succeeded', 'failed', 'cancelled'];

export function isOver(transfer: Transfer): boolean {
  return ENDED.includes(transfer.state);
}

/** How much of it is there, 0 to 1; null while nobody knows how much it is. */
export function shareDone(progress: Progress): number | null {
  const total = progress.bytes_total;
  if (total === null) {
    return null;
  }
  return total === 0 ? 1 : Math.min(1, progress.bytes_done / total);
}

/** `31 GB of 145 GB · 88 MB/s · 21 min left`; what is not known is left out. */
export function progressText(progress: Progress): string {
  const done = bytes(progress.bytes_done);
  const parts = [progress.bytes_total === null ? done : `${done} of ${bytes(progress.bytes_total)}`];
  if (progress.rate !== null && progress.rate > 0) {
    parts.push(`${bytes(Math.trunc(progress.rate))}/s`);
  }
  if (progress.eta_s !== null) {
    parts.push(`about ${duration(Math.floor(Math.max(1, progress.eta_s)))} left`);
  }
  return parts.join(' · ');
}

/** `145 GB in 1,200 files`, `nothing had to be moved`, of one that has arrived. */
export function outcomeText(progress: Progress): string {
  const files = progress.files_total === null ? '' : ` in ${counted(progress.files_total, 'file')}`;
  if (progress.bytes_sent === 0) {
    return `nothing had to be moved: ${bytes(progress.bytes_done)}${files} was there`;
  }
  const skipped = progress.files_skipped > 0 ? `, ${count(progress.files_skipped)} of them were there` : '';
  return `${bytes(progress.bytes_done)}${files}${skipped}`;
}

/** The location with a collection's id cut short. */
export function shortPlace(location: Location): string {
  return location.collection === null
    ? `${location.site ?? 'home'}:${location.path}`
    : `globus://${location.collection.slice(0, 8)}…/${location.path.replace(/^\/+/, '')}`;
}

export function route(request: TransferRequest): string {
  return `${shortPlace(request.source)} → ${shortPlace(request.destination)}`;
}

/** The dataset, the last part of the path, or `8 files of it`. */
export function whatMoves(request: TransferRequest): string {
  const last = request.source.path.replace(/\/+$/, '').split('/').pop() ?? '';
  const name = request.dataset ?? (last !== '' ? last : `${request.source.site ?? 'home'}:${request.source.path}`);
  return request.files.length > 0 ? `${counted(request.files.length, 'file')} of ${name}` : name;
}

export function transferWord(transfer: Transfer): string {
  const by = transfer.cancel_requested_by;
  if (by !== null && !isOver(transfer)) {
    return 'being cancelled';
  }
  if (by !== null && transfer.state === 'cancelled') {
    return `cancelled by ${by}`;
  }
  return transferSign(transfer.state).word;
}

/** What is wrong, and what to do; empty where nothing is. */
export function transferSaid(transfer: Transfer): string {
  const said = isOver(transfer) ? transfer.cause : transfer.trouble;
  const stop = said !== '' && transfer.next !== '' && !/[.!?:]$/.test(said) ? '.' : '';
  return `${said}${stop} ${transfer.next}`.trim();
}

/** What stands beside its bar: the state's word where that is more than that it moves, and how far it is. */
export function transferFar(transfer: Transfer): string {
  const plain = transfer.state === 'active' && transfer.cancel_requested_by === null;
  const far = transfer.state === 'succeeded' ? outcomeText(transfer.progress) : progressText(transfer.progress);
  return plain ? far : `${transferWord(transfer)} · ${far}`;
}

/** Only a web page is opened, whatever the server says. */
export function neededPage(transfer: Transfer): string {
  return !isOver(transfer) && /^https?:\/\//i.test(transfer.link) ? transfer.link : '';
}
