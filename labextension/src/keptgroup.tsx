import { ReactWidget } from '@jupyterlab/ui-components';
import { Signal } from '@lumino/signaling';
import * as React from 'react';

import type { Group } from './api-types';
import { Clock, ClockContext } from './clock';
import { GroupWords } from './groupdetails';
import { GroupBar, GroupCounts, GroupFailures, GroupPlaces } from './groupparts';
import { groupState } from './grouptext';
import type { PoolModel } from './pool';
import { useSignal } from './signal';
import { stateSign } from './vocabulary';

/** A group below its cell, as the server knows it now. It stays hidden until the server has answered. */
export class KeptGroup extends ReactWidget {
  constructor(
    readonly pool: PoolModel,
    readonly about: string,
    private readonly _open: () => void
  ) {
    super();
    this.addClass('jp-diamond-keptcard');
    this.node.dataset['keptGroup'] = about;
    this._clock = new Clock(() => pool.serverSkew);
  }

  readonly changed = new Signal<this, void>(this);
  readonly task = null;
  group: Group | null = null;

  get known(): boolean {
    return this.group !== null;
  }

  /** Follow the group from now on. */
  watch(): void {
    if (!this._watching) {
      this._watching = true;
      this.pool.changed.connect(this._onPool, this);
      this._clock.start();
      void this._reload();
    }
  }

  /** Somebody else shows the group again. */
  rest(): void {
    this._watching = false;
    this.pool.changed.disconnect(this._onPool, this);
    this._clock.stop();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.rest();
      this._clock.dispose();
      super.dispose(); // clears our signals, after it has told that we are gone
    }
  }

  protected override render(): JSX.Element {
    return (
      <ClockContext.Provider value={this._clock}>
        <Lines card={this} open={this._open} />
      </ClockContext.Provider>
    );
  }

  private async _reload(): Promise<void> {
    try {
      this.group = await this.pool.api.group(this.about);
    } catch {
      return; // what the notebook has kept is shown instead; the sidebar says what is wrong with the server
    }
    if (!this.isDisposed) {
      this.node.dataset['state'] = groupState(this.group);
      this.node.dataset['tone'] = stateSign(groupState(this.group)).tone;
      this.changed.emit();
    }
  }

  private _onPool(): void {
    const newest = this.pool.group(this.about)?.version ?? -1;
    if (this.group === null ? this.pool.link.kind === 'ready' : newest > this.group.version) {
      void this._reload();
    }
  }

  private readonly _clock: Clock;
  private _watching = false;
}

function Lines(props: { card: KeptGroup; open: () => void }): JSX.Element | null {
  useSignal(props.card.changed);
  const group = props.card.group;
  if (group === null) {
    return null;
  }
  return (
    <>
      <div className="jp-diamond-dline">
        <strong className="jp-diamond-name">{group.name}</strong>
        <GroupWords group={group} />
        <span className="jp-diamond-spring" />
        <button type="button" className="jp-diamond-button" data-action="details" onClick={props.open}>
          details
        </button>
      </div>
      <GroupBar group={group} />
      <GroupCounts group={group} />
      <GroupPlaces group={group} />
      <GroupFailures api={props.card.pool.api} group={group} />
      <p className="jp-diamond-fine">
        The kernel that sent it is gone. <code>{`diamond.task("${group.name}")`}</code> brings it into this one.
      </p>
    </>
  );
}
