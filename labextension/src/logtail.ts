/** Follows a job's log by offset while somebody looks and the job is active. The text goes in as text nodes only. */

import { Signal } from '@lumino/signaling';

import type { PoolApi } from './api';
import type { LogChunk } from './api-types';
import { LogLines } from './logtext';

const FIRST_BYTES = 65_536;
const CHUNK_BYTES = 262_144;
const KEPT_CHARS = 2_000_000;
const PULLS_AT_ONCE = 16;
const BEAT_MS = 1000;
const LAST_RETRY_MS = 30_000;

export class LogTail {
  constructor(
    private readonly _api: PoolApi,
    private readonly _task: string,
    private readonly _box: HTMLElement
  ) {
    _box.replaceChildren(this._open);
  }

  /** The numbers and the problem below are new. */
  readonly changed = new Signal<this, void>(this);
  /** Bytes before what is shown; 0 when the log is shown from its start. */
  first = 0;
  size: number | null = null;
  exists: boolean | null = null;
  problem = '';

  /** Follow from now on; each call pulls at once. */
  start(): void {
    this._wanted = true;
    void this.pull();
  }

  stop(): void {
    this._wanted = false;
    window.clearTimeout(this._timer);
  }

  dispose(): void {
    this.stop();
    this._gone = true;
    Signal.clearData(this);
  }

  /** Read what is new, then sleep one beat if still wanted. */
  async pull(): Promise<void> {
    window.clearTimeout(this._timer);
    if (this._busy || this._gone) {
      return;
    }
    this._busy = true;
    try {
      await this._catchUp();
      this._retryMs = BEAT_MS;
      this.problem = '';
    } catch (reason) {
      this.problem = reason instanceof Error ? reason.message : String(reason);
      this._retryMs = Math.min(2 * this._retryMs, LAST_RETRY_MS);
    } finally {
      this._busy = false;
    }
    if (!this._gone) {
      this.changed.emit();
      if (this._wanted) {
        this._timer = window.setTimeout(() => void this.pull(), this._retryMs);
      }
    }
  }

  /** Put the piece before what is shown in front of it. */
  async earlier(): Promise<void> {
    if (this._busy || this.first === 0) {
      return;
    }
    this._busy = true;
    try {
      const from = Math.max(0, this.first - CHUNK_BYTES);
      const chunk = await this._api.log(this._task, { offset: from, limit: this.first - from });
      this.first = chunk.offset;
      this._redraw(chunk.text + this._raw);
    } catch (reason) {
      this.problem = reason instanceof Error ? reason.message : String(reason);
    } finally {
      this._busy = false;
      this.changed.emit();
    }
  }

  private async _catchUp(): Promise<void> {
    for (let pulls = 0; pulls < PULLS_AT_ONCE && !this._gone; pulls++) {
      const first = this._next === null;
      const query = first ? { tail: FIRST_BYTES } : { offset: this._next ?? 0, limit: CHUNK_BYTES };
      const chunk = await this._api.log(this._task, query);
      this._accept(chunk, first);
      if (chunk.text === '' || chunk.size === null || chunk.next_offset >= chunk.size) {
        return;
      }
    }
  }

  private _accept(chunk: LogChunk, first: boolean): void {
    this.exists = chunk.exists;
    this.size = chunk.size;
    if (!chunk.exists) {
      return;
    }
    if (chunk.size !== null && this._next !== null && chunk.size < this._next) {
      this._next = null; // a new attempt writes a new log: begin again
      this._redraw('');
      return;
    }
    if (first) {
      this.first = chunk.offset;
    }
    this._next = chunk.next_offset;
    if (chunk.text !== '') {
      this._append(chunk.text);
    }
  }

  private _append(text: string): void {
    const box = this._box;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    this._raw += text;
    if (this._raw.length > KEPT_CHARS) {
      const cut = this._raw.length - KEPT_CHARS / 2;
      this.first += new TextEncoder().encode(this._raw.slice(0, cut)).length;
      this._redraw(this._raw.slice(cut));
    } else {
      const { settled, open } = this._lines.push(text);
      this._open.before(document.createTextNode(settled));
      this._open.data = open;
    }
    if (atEnd) {
      box.scrollTop = box.scrollHeight;
    }
  }

  private _redraw(raw: string): void {
    this._raw = raw;
    this._lines = new LogLines();
    const { settled, open } = this._lines.push(raw);
    this._open.data = open;
    this._box.replaceChildren(document.createTextNode(settled), this._open);
  }

  private _raw = '';
  private _lines = new LogLines();
  private readonly _open = document.createTextNode('');
  private _next: number | null = null;
  private _busy = false;
  private _wanted = false;
  private _gone = false;
  private _timer = 0;
  private _retryMs = BEAT_MS;
}
