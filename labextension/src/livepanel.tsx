import { Dialog, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import * as React from 'react';

import { ApiFailure } from './api';
import { Clock, ClockContext } from './clock';
import { diamondIcon } from './icon';
import type { PoolModel } from './pool';

/** One thing in the main area, kept current by the pool: a newer version in its lists means a refetch. */
export abstract class LivePanel<T extends { version: number }> extends ReactWidget {
  constructor(
    readonly pool: PoolModel,
    id: string
  ) {
    super();
    this.id = id;
    this.addClass('jp-diamond-details');
    this.title.icon = diamondIcon;
    this.title.closable = true;
    this._clock = new Clock(() => pool.serverSkew);
    pool.changed.connect(this._onPool, this);
  }

  readonly changed = new Signal<this, void>(this);
  value: T | null = null;
  problem = '';
  /** The panel is on screen. */
  watched = false;

  async reload(): Promise<void> {
    if (this._loading) {
      this._again = true;
      return;
    }
    this._loading = true;
    try {
      this.accept(await this.fetch());
    } catch (reason) {
      this.problem = reason instanceof Error ? reason.message : String(reason);
      this._stale = true;
    } finally {
      this._loading = false;
    }
    if (this.isDisposed) {
      return;
    }
    this.changed.emit();
    if (this._again) {
      this._again = false;
      void this.reload();
    }
  }

  /** Asks first. */
  async askAndDo(title: string, body: string, label: string, act: () => Promise<T>, notDone: string): Promise<void> {
    const answer = await showDialog({
      title,
      body,
      buttons: [Dialog.cancelButton({ label: 'Keep it' }), Dialog.warnButton({ label })],
      defaultButton: 0
    });
    if (answer.button.accept) {
      await this.do(act, notDone);
    }
  }

  async do(act: () => Promise<T>, notDone: string): Promise<void> {
    try {
      this.accept(await act());
      this.changed.emit();
    } catch (reason) {
      const sentence = reason instanceof ApiFailure ? reason.message : String(reason);
      void showErrorMessage(notDone, sentence);
    }
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.pool.changed.disconnect(this._onPool, this);
      this._clock.dispose();
      super.dispose(); // clears our signals, after it has told that we are gone
    }
  }

  protected abstract draw(): JSX.Element;
  protected abstract fetch(): Promise<T>;
  /** The number of the newest event about it that the pool knows. */
  protected abstract newest(): number;

  protected accept(value: T): void {
    this.value = value;
    this.problem = '';
    this._stale = false;
  }

  /** A closed panel is gone: the next click opens a new one. */
  protected override onCloseRequest(message: Message): void {
    super.onCloseRequest(message);
    this.dispose();
  }

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
    this.watched = watched;
    if (watched) {
      this._clock.start();
    } else {
      this._clock.stop();
    }
    this.changed.emit();
  }

  private _onPool(): void {
    if (this.newest() > (this.value?.version ?? -1) || (this._stale && this.pool.link.kind === 'ready')) {
      this._stale = false;
      void this.reload();
    }
  }

  private readonly _clock: Clock;
  private _loading = false;
  private _again = false;
  private _stale = false;
}
