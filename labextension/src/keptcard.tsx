import { ReactWidget } from '@jupyterlab/ui-components';
import { Signal } from '@lumino/signaling';
import * as React from 'react';

import type { Task } from './api-types';
import { Clock, ClockContext } from './clock';
import { Progress, StateWords, Trouble } from './detailshead';
import type { PoolModel } from './pool';
import { useSignal } from './signal';
import { Staging } from './transfers';
import { stateSign } from './vocabulary';

/** A task below its cell, as the server knows it now. It stays hidden until the server has answered. */
export class KeptCard extends ReactWidget {
  constructor(
    readonly pool: PoolModel,
    readonly about: string,
    private readonly _open: () => void
  ) {
    super();
    this.addClass('jp-diamond-keptcard');
    this.node.dataset['keptTask'] = about;
    this._clock = new Clock(() => pool.serverSkew);
  }

  readonly changed = new Signal<this, void>(this);
  task: Task | null = null;

  get known(): boolean {
    return this.task !== null;
  }

  /** Follow the task from now on. */
  watch(): void {
    if (!this._watching) {
      this._watching = true;
      this.pool.changed.connect(this._onPool, this);
      this._clock.start();
      void this._reload();
    }
  }

  /** Somebody else shows the task again. */
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
      this.task = await this.pool.api.task(this.about);
    } catch {
      return; // what the notebook has kept is shown instead; the sidebar says what is wrong with the server
    }
    if (!this.isDisposed) {
      this.node.dataset['state'] = this.task.state;
      this.node.dataset['tone'] = stateSign(this.task.state).tone;
      this.changed.emit();
    }
  }

  private _onPool(): void {
    const newest = this.pool.newest(this.about);
    if (this.task === null ? this.pool.link.kind === 'ready' : newest > this.task.version) {
      void this._reload();
    }
  }

  private readonly _clock: Clock;
  private _watching = false;
}

function Lines(props: { card: KeptCard; open: () => void }): JSX.Element | null {
  useSignal(props.card.changed);
  const task = props.card.task;
  if (task === null) {
    return null;
  }
  const attempt = task.attempts[task.attempts.length - 1] ?? null;
  return (
    <>
      <div className="jp-diamond-dline">
        <strong className="jp-diamond-name">{task.name}</strong>
        <StateWords task={task} attempt={attempt} />
        <span className="jp-diamond-spring" />
        <button type="button" className="jp-diamond-button" data-action="details" onClick={props.open}>
          details
        </button>
      </div>
      {attempt !== null && <Progress task={task} attempt={attempt} />}
      <Staging pool={props.card.pool} task={task} />
      <Trouble task={task} attempt={attempt} problem="" />
      <p className="jp-diamond-fine">
        The kernel that sent it is gone. <code>{`diamond.task("${task.name}")`}</code> brings it into this one.
      </p>
    </>
  );
}
