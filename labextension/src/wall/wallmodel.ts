/** What the wall shows beyond the pool's snapshot. Asked for only while the wall can be seen, and never all at once. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import type { Charges, Outlook, SiteReading } from '../api-types';
import { Coalescer } from '../coalesce';
import type { PoolModel } from '../pool';
import { Point, sparkPoints } from './spark';
import { placeKey } from './walltext';

/** A little more than a day is told in ten-minute means: a tenth of the single readings, and as much as can be seen. */
const HOURS = 25;
const HISTORY_MS = 600_000;
const OUTLOOK_MS = 30_000;
const CHARGES_MS = 15_000;

export class WallModel implements IDisposable {
  constructor(private readonly _pool: PoolModel) {
    _pool.changed.connect(this._onPool, this);
  }

  readonly changed = new Signal<this, void>(this);
  /** Readings that say the same as before are the same objects, so that their cards are left alone. */
  sites: readonly SiteReading[] | null = null;
  outlook: Outlook | null = null;
  charges: Charges | null = null;
  /** Why the wait could not be forecast; empty while it could. */
  problem = '';

  /** The last day of a partition; null while it is not read. */
  spark(site: string, partition: string): readonly Point[] | null {
    return this._sparks.get(placeKey(site, partition)) ?? (this._read.has(site) ? [] : null);
  }

  /** While nobody looks, nothing is asked for. */
  watch(watched: boolean): void {
    this._watched = watched;
    if (watched) {
      this._onPool();
      this._askAll();
    }
  }

  isDisposed = false;

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.isDisposed = true;
    this._pool.changed.disconnect(this._onPool, this);
    for (const soon of [this._outlookSoon, this._chargesSoon, this._historySoon]) {
      soon.dispose();
    }
    Signal.clearData(this);
  }

  private _onPool(): void {
    const snapshot = this._pool.snapshot;
    if (snapshot !== this._snapshot) {
      this._snapshot = snapshot;
      const before = new Map(this.sites?.map(site => [site.site, site]));
      this.sites = snapshot === null ? null : snapshot.sites.map(site => same(before.get(site.site), site));
      if (this._watched) {
        this._outlookSoon.ask();
        this._historySoon.ask();
      }
      this.changed.emit();
    }
    if (this._watched && this._pool.tasks !== this._tasks) {
      this._tasks = this._pool.tasks;
      this._chargesSoon.ask();
    }
  }

  private _askAll(): void {
    this._outlookSoon.ask();
    this._chargesSoon.ask();
    this._historySoon.ask();
  }

  private async _readOutlook(): Promise<void> {
    try {
      this.outlook = await this._pool.api.outlook();
      this.problem = '';
    } catch (reason) {
      this.problem = reason instanceof Error ? reason.message : String(reason);
    }
    this._tell();
  }

  private async _readCharges(): Promise<void> {
    try {
      this.charges = await this._pool.api.charges(1);
    } catch {
      // the strip keeps what it said; the sidebar and the notice say that the server does not answer
    }
    this._tell();
  }

  /** One site after another: a day of twelve sites is a megabyte. */
  private async _readHistories(): Promise<void> {
    for (const site of this.sites ?? []) {
      if (!this._watched || this.isDisposed) {
        return;
      }
      if (site.simulated || Date.now() - (this._read.get(site.site) ?? 0) < HISTORY_MS) {
        continue;
      }
      try {
        const history = await this._pool.api.history(site.site, HOURS);
        const now = Date.now() + this._pool.serverSkew;
        for (const series of history.series) {
          this._sparks.set(placeKey(site.site, series.partition), sparkPoints(series, history.span_s, now));
        }
        this._read.set(site.site, Date.now());
      } catch {
        // drawn as not known; asked again with the next reading
      }
      this._tell();
    }
  }

  private _tell(): void {
    if (!this.isDisposed) {
      this.changed.emit();
    }
  }

  private readonly _outlookSoon = new Coalescer(() => this._readOutlook(), OUTLOOK_MS);
  private readonly _chargesSoon = new Coalescer(() => this._readCharges(), CHARGES_MS);
  private readonly _historySoon = new Coalescer(() => this._readHistories(), 1000);
  private readonly _sparks = new Map<string, readonly Point[]>();
  private readonly _read = new Map<string, number>();
  private _snapshot: unknown = undefined;
  private _tasks: unknown = null;
  private _watched = false;
}

/** The old object where the new one says nothing new. */
function same(before: SiteReading | undefined, now: SiteReading): SiteReading {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(now) ? before : now;
}
