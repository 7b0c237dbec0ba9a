import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import * as React from 'react';

import { Clock, ClockContext } from '../clock';
import type { LaunchDesk } from '../launch/desk';
import type { PoolModel } from '../pool';
import type { ScreenName } from './registry';

/** What every screen is given: the pool, and how to open anything else. */
export interface ScreenContext {
  readonly pool: PoolModel;
  readonly openTask: (id: string) => void;
  readonly openGroup: (id: string) => void;
  readonly openScreen: (name: ScreenName) => void;
  readonly desk: LaunchDesk;
}

/** A part of a screen that React draws. It has a clock that ticks, and is `watched`, only while it can be seen. */
export abstract class ScreenView extends ReactWidget {
  constructor(readonly pool: PoolModel) {
    super();
    this._clock = new Clock(() => pool.serverSkew);
  }

  readonly watchedChanged = new Signal<this, boolean>(this);
  watched = false;

  override dispose(): void {
    if (!this.isDisposed) {
      this._clock.dispose();
      super.dispose();
    }
  }

  protected abstract draw(): JSX.Element;

  protected override render(): JSX.Element {
    return <ClockContext.Provider value={this._clock}>{this.draw()}</ClockContext.Provider>;
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._watch(true);
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._watch(this.isVisible);
  }

  protected override onBeforeHide(message: Message): void {
    super.onBeforeHide(message);
    this._watch(false);
  }

  private _watch(watched: boolean): void {
    if (watched) {
      this._clock.start();
    } else {
      this._clock.stop();
    }
    if (watched !== this.watched) {
      this.watched = watched;
      this.watchedChanged.emit(watched);
    }
  }

  private readonly _clock: Clock;
}
