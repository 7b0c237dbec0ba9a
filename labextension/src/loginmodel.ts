/** Who we are to Globus, as the server knows it. Nothing secret is kept here, or anywhere on the page. */

import { Signal } from '@lumino/signaling';

import type { PoolApi } from './api';
import { ApiFailure } from './api';
import type { Login, LoginStart } from './api-types';

export type Way = LoginStart['way'];

export class LoginModel {
  constructor(private readonly _api: PoolApi) {}

  /** The state is new. */
  readonly changed = new Signal<this, void>(this);
  /** The user wants to log in: whoever draws the gate shows it. */
  readonly asked = new Signal<this, void>(this);
  /** One sentence for a screen reader. */
  readonly announced = new Signal<this, string>(this);

  /** Null before the server has answered, and where it knows no logins. */
  state: Login | null = null;

  get canBegin(): boolean {
    return this.state?.health === 'needs_login' && this.state.ways.length > 0;
  }

  /** Ask for the state. What cannot be asked stays as it was: sites and tasks do not depend on it. */
  async fetch(): Promise<void> {
    const before = this._acts;
    try {
      const state = await this._api.login();
      if (before === this._acts) {
        this._accept(state); // else it is from before the user logged in or out
      }
    } catch (reason) {
      if (!(reason instanceof ApiFailure)) {
        throw reason;
      }
      if (reason.status === 404) {
        this.state = null; // a server that knows no logins
      }
    }
  }

  begin(way: Way): Promise<LoginStart> {
    return this._api.beginLogin(way);
  }

  async finish(code: string): Promise<void> {
    this._did(await this._api.finishLogin(code));
  }

  async logout(): Promise<void> {
    this._did(await this._api.logout());
  }

  dispose(): void {
    Signal.clearData(this);
  }

  private _did(state: Login): void {
    this._acts += 1;
    this._accept(state);
  }

  private _accept(state: Login): void {
    const before = this.state?.health;
    this.state = state;
    this.changed.emit();
    if (before !== undefined && before !== 'signed_in' && state.health === 'signed_in') {
      this.announced.emit(`Logged in to Globus${state.identity === null ? '' : ` as ${state.identity}`}`);
    } else if (before === 'signed_in' && state.health === 'needs_login') {
      this.announced.emit('Logged out of Globus');
    }
  }

  /** How often the user has logged in or out here. */
  private _acts = 0;
}
