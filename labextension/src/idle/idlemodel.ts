/** What the idle finder asks: its fields as an envelope, then where such a job could start now. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import type { Idle, Snapshot } from '../api-types';
import { Values, said } from '../launch/fields';
import type { PoolModel } from '../pool';

const TYPING_MS = 250;
/** A name that a task may have: the fields alone are asked about. */
const NAME = 'idle';

export class IdleModel implements IDisposable {
  constructor(readonly pool: PoolModel) {
    pool.changed.connect(this._onPool, this);
  }

  readonly changed = new Signal<this, void>(this);
  values: Values = { gpus: '1' };
  problems: { readonly [option: string]: string } = {};
  idle: Idle | null = null;
  problem = '';
  busy = false;

  set(option: string, text: string): void {
    this.values = { ...this.values, [option]: text };
    this.changed.emit();
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => void this.ask(), TYPING_MS);
  }

  watch(watched: boolean): void {
    this._watched = watched;
    if (watched) {
      void this.ask();
    }
  }

  /** The newest question is the one whose answer counts. */
  async ask(): Promise<void> {
    const mine = (this._asked += 1);
    this.busy = true;
    this.changed.emit();
    try {
      const form = { name: NAME, language: 'python', outputs: '', in_cell: false, options: said(this.values) };
      const read = await this.pool.api.readLine(form);
      const idle = read.envelope === null ? null : await this.pool.api.idle(read.envelope);
      if (mine !== this._asked || this.isDisposed) {
        return;
      }
      this.problems = read.problems;
      this.idle = idle ?? this.idle;
      this.problem = '';
    } catch (reason) {
      if (mine !== this._asked || this.isDisposed) {
        return;
      }
      this.problem = reason instanceof Error ? reason.message : String(reason);
    }
    this.busy = false;
    this.changed.emit();
  }

  isDisposed = false;

  dispose(): void {
    if (!this.isDisposed) {
      this.isDisposed = true;
      this.pool.changed.disconnect(this._onPool, this);
      window.clearTimeout(this._timer);
      Signal.clearData(this);
    }
  }

  /** New readings may have freed something. */
  private _onPool(): void {
    if (this._watched && this.pool.snapshot !== this._snapshot) {
      this._snapshot = this.pool.snapshot;
      window.clearTimeout(this._timer);
      this._timer = window.setTimeout(() => void this.ask(), TYPING_MS);
    }
  }

  private _snapshot: Snapshot | null = null;
  private _watched = false;
  private _asked = 0;
  private _timer = 0;
}
