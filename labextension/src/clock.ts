/** One tick a second for everything on a panel that shows an age, and only while the panel is on screen. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import * as React from 'react';

export class Clock implements IDisposable {
  /** `skew` gives how much later the server's clock is, in ms. */
  constructor(private readonly _skew: () => number) {}

  readonly ticked = new Signal<this, void>(this);

  /** The instant in ms, as the server has it. */
  now(): number {
    return Date.now() + this._skew();
  }

  get running(): boolean {
    return this._timer !== null;
  }

  start(): void {
    if (this._timer === null && !this.isDisposed) {
      this._timer = window.setInterval(() => this._tick(), 1000);
      this.ticked.emit();
    }
  }

  stop(): void {
    if (this._timer !== null) {
      window.clearInterval(this._timer);
      this._timer = null;
    }
  }

  isDisposed = false;

  dispose(): void {
    this.stop();
    this.isDisposed = true;
    Signal.clearData(this);
  }

  private _tick(): void {
    if (!document.hidden) {
      this.ticked.emit();
    }
  }

  private _timer: number | null = null;
}

export const ClockContext = React.createContext<Clock>(new Clock(() => 0));

/** The server's instant in ms. The component renders again each second while `live`. */
export function useNow(live = true): number {
  const clock = React.useContext(ClockContext);
  const [, tick] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    if (!live) {
      return;
    }
    clock.ticked.connect(tick);
    return () => void clock.ticked.disconnect(tick);
  }, [clock, live]);
  return clock.now();
}
