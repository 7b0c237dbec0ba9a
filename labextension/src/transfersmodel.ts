/** What moves now, as the server knows it. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { ApiFailure } from './api';
import type { PoolApi } from './api';
import type { Transfer } from './api-types';
import { Coalescer } from './coalesce';
import { transferSaid, whatMoves } from './transfertext';

export class TransfersModel implements IDisposable {
  constructor(private readonly _api: PoolApi) {}

  /** Something is new of one of them. */
  readonly changed = new Signal<this, void>(this);
  /** One sentence for a screen reader: what needs the user. */
  readonly announced = new Signal<this, string>(this);

  /** Those under way, newest first. */
  active: readonly Transfer[] = [];

  get needing(): readonly Transfer[] {
    return this.active.filter(each => each.state === 'needs_you');
  }

  /** What a task waits for. */
  of(task: string): readonly Transfer[] {
    return this.active.filter(each => each.request.task === task);
  }

  /** An event was heard of one, or events may have been missed. */
  hear(): void {
    this._soon.ask();
  }

  async cancel(id: string): Promise<void> {
    try {
      await this._api.cancelTransfer(id);
    } finally {
      this.hear();
    }
  }

  isDisposed = false;

  dispose(): void {
    if (!this.isDisposed) {
      this.isDisposed = true;
      this._soon.dispose();
      Signal.clearData(this);
    }
  }

  /** What cannot be asked stays as it was: sites and tasks do not depend on it. */
  private async _fetch(): Promise<void> {
    try {
      const found = await this._api.transfers();
      const known = new Set(this.needing.map(each => each.id));
      this.active = found;
      for (const each of this.needing.filter(one => !known.has(one.id))) {
        this.announced.emit(`Moving ${whatMoves(each.request)} needs you: ${transferSaid(each)}`);
      }
      this.changed.emit();
    } catch (reason) {
      if (!(reason instanceof ApiFailure)) {
        throw reason;
      }
    }
  }

  private readonly _soon = new Coalescer(() => this._fetch(), 500);
}
