/** What agents propose, as the server has it. An event carries an id only: whoever shows that proposal asks again. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import type { PoolApi } from './api';
import type { Proposal } from './api-types';

export class Proposals implements IDisposable {
  constructor(private readonly _api: PoolApi) {}

  /** Something is new of the proposal with this id; of any, where it is empty. */
  readonly changed = new Signal<this, string>(this);

  /** As it is now, with what is different from what was proposed. */
  async get(id: string): Promise<Proposal> {
    return this._api.proposal(id);
  }

  /** Say yes to what has this hash: it is done at once. */
  async approve(id: string, hash: string): Promise<Proposal> {
    try {
      return await this._api.approve(id, hash);
    } finally {
      this.changed.emit(id);
    }
  }

  /** Say no, or what should be different. */
  async deny(id: string, reason: string): Promise<Proposal> {
    try {
      return await this._api.deny(id, reason);
    } finally {
      this.changed.emit(id);
    }
  }

  /** An event was heard of one, or events may have been missed. */
  hear(id: string): void {
    this.changed.emit(id);
  }

  isDisposed = false;

  dispose(): void {
    if (!this.isDisposed) {
      this.isDisposed = true;
      Signal.clearData(this);
    }
  }
}
