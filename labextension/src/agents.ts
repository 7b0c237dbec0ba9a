/** What waits for the user's word, what is allowed beforehand, and whether agents may act, as the server has it. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { ApiFailure, PoolApi } from './api';
import type { AgentSwitch, Proposal, StandingBudget } from './api-types';
import { Coalescer } from './coalesce';
import type { Proposals } from './proposals';

export class AgentsModel implements IDisposable {
  constructor(
    private readonly _api: PoolApi,
    proposals: Proposals
  ) {
    proposals.changed.connect(() => this.hear());
  }

  /** Anything below is new. */
  readonly changed = new Signal<this, void>(this);
  /** Proposals that wait since now; those that waited when the page was opened are no news. */
  readonly asked = new Signal<this, readonly Proposal[]>(this);
  /** Proposals that wait no more, by id. */
  readonly answered = new Signal<this, readonly string[]>(this);
  /** One sentence for a screen reader. */
  readonly announced = new Signal<this, string>(this);

  /** Oldest first: who asked first is answered first. */
  waiting: readonly Proposal[] = [];
  budgets: readonly StandingBudget[] = [];
  /** Null before the server has answered, and where it knows no agents. */
  state: AgentSwitch | null = null;

  /** Something was heard: ask again, soon. */
  hear(): void {
    this._soon.ask();
  }

  async switch(on: boolean): Promise<void> {
    this._accept(await this._api.switchAgents(on));
    this.announced.emit(on ? 'Agents may act' : 'Agents are off');
    this.hear();
  }

  async revoke(id: string): Promise<void> {
    await this._api.revokeBudget(id);
    await this._fetch();
    this.announced.emit('The standing budget is revoked');
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
      const [proposals, budgets, state] = await Promise.all([
        this._api.proposals('waiting,approved'),
        this._api.budgets(),
        this._api.agentSwitch()
      ]);
      if (!this.isDisposed) {
        this.budgets = budgets;
        this._acceptProposals([...proposals].reverse());
        this._accept(state);
      }
    } catch (reason) {
      if (!(reason instanceof ApiFailure)) {
        throw reason;
      }
      if (reason.status === 404 && this.state !== null) {
        this.state = null; // a server that knows no agents
        this.changed.emit();
      }
    }
  }

  private _accept(state: AgentSwitch): void {
    this.state = state;
    this.changed.emit();
  }

  private _acceptProposals(proposals: Proposal[]): void {
    const before = new Set(this.waiting.map(each => each.id));
    const now = new Set(proposals.map(each => each.id));
    const fresh = this.state === null ? [] : proposals.filter(each => each.standing === 'waiting' && !before.has(each.id));
    const gone = [...before].filter(id => !now.has(id));
    this.waiting = proposals;
    if (fresh.length > 0) {
      this.asked.emit(fresh);
      this.announced.emit(`${fresh.length === 1 ? 'A plan needs' : `${fresh.length} plans need`} your approval`);
    }
    if (gone.length > 0) {
      this.answered.emit(gone);
    }
  }

  private readonly _soon = new Coalescer(() => this._fetch());
}
