/** What the page knows of the pool. Events carry ids only: each one asks for a refetch, bursts fold into one. */

import type { Event, ServiceManager } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { AgentsModel } from './agents';
import { ApiFailure, PoolApi } from './api';
import type { Group, Snapshot, TaskSummary } from './api-types';
import { Coalescer } from './coalesce';
import { LoginModel } from './loginmodel';
import { Proposals } from './proposals';
import { TransfersModel } from './transfersmodel';

export const SCHEMA = 'https://schema.jupyter-diamond.org/pool/v1';

/** How we stand with the server half. `missing` keeps the status that said so. */
export type Link =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'missing'; readonly status: number }
  | { readonly kind: 'offline'; readonly message: string; readonly since: number };

export interface Counts {
  readonly running: number;
  readonly pending: number;
  readonly unknown: number;
}

const ACTIVE_LIMIT = 1000;
const PAGE = 200;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;
/** After an outage JupyterLab needs up to half a minute to hear events again: until then we ask more often. */
const DEAF_MS = 60_000;
const DEAF_REFRESH_MS = 3000;

export class PoolModel implements IDisposable {
  constructor(
    readonly api: PoolApi,
    services: ServiceManager.IManager
  ) {
    this._services = services;
    this.login = new LoginModel(api);
    this.proposals = new Proposals(api);
    this.agents = new AgentsModel(api, this.proposals);
    this.transfers = new TransfersModel(api);
    this.transfers.announced.connect((_, sentence) => this.announced.emit(sentence));
    this.agents.announced.connect((_, sentence) => this.announced.emit(sentence));
    this.login.announced.connect((_, sentence) => this.announced.emit(sentence));
    services.events.stream.connect(this._onEvent, this);
    document.addEventListener('visibilitychange', this._onReturn);
    window.addEventListener('online', this._onReturn);
  }

  /** Anything below is new. */
  readonly changed = new Signal<this, void>(this);
  /** One sentence for a screen reader: which tasks changed state. */
  readonly announced = new Signal<this, string>(this);

  /** Tasks that have ended since this page knows of them. */
  readonly ended = new Signal<this, readonly TaskSummary[]>(this);
  readonly groupsEnded = new Signal<this, readonly Group[]>(this);

  readonly login: LoginModel;
  readonly proposals: Proposals;
  readonly agents: AgentsModel;
  readonly transfers: TransfersModel;
  link: Link = { kind: 'connecting' };
  snapshot: Snapshot | null = null;
  /** Active ones first, then ended ones; both newest first. */
  tasks: readonly TaskSummary[] | null = null;
  /** Active ones first, then ended ones; both newest first. Their members are not among the tasks. */
  groups: readonly Group[] = [];
  counts: Counts = { running: 0, pending: 0, unknown: 0 };
  /** The server has ended tasks beyond those listed. */
  more = false;
  refreshing = false;
  /** Why the last refresh that the user asked for failed. */
  refreshProblem = '';
  /** Ids whose state differs from the list before. */
  moved: ReadonlySet<string> = new Set();

  get serverSkew(): number {
    return this.api.skew;
  }

  /** How often the server is asked whether an event was missed, in seconds. */
  setRefresh(seconds: number): void {
    this._refreshMs = 1000 * seconds;
    if (this.link.kind === 'ready') {
      this._schedule(this._refreshMs);
    }
  }

  /** Shake hands now; refetch everything when the link was down or an event was missed. */
  async check(): Promise<void> {
    if (this._checking || this.isDisposed) {
      return;
    }
    this._checking = true;
    try {
      const status = await this.api.status();
      const missed = status.newest_event !== this._seen;
      this._seen = status.newest_event;
      if (this.link.kind === 'offline') {
        this._deafUntil = Date.now() + DEAF_MS;
      }
      if (this.link.kind !== 'ready' || missed) {
        this.refreshProblem = '';
        await this._refetch();
      }
      this._retryMs = FIRST_RETRY_MS;
      this._schedule(Date.now() < this._deafUntil ? Math.min(DEAF_REFRESH_MS, this._refreshMs) : this._refreshMs);
    } catch (reason) {
      this._lose(reason);
    } finally {
      this._checking = false;
    }
  }

  /** Ask one site, or all, for new facts. */
  async refresh(site: string | null = null): Promise<void> {
    if (this.link.kind !== 'ready') {
      return this.check();
    }
    this.refreshing = true;
    this.refreshProblem = '';
    this.changed.emit();
    try {
      this.snapshot = await this.api.refreshSites(site);
      await this._fetchTasks();
    } catch (reason) {
      this.refreshProblem = reason instanceof Error ? reason.message : String(reason);
      if (reason instanceof ApiFailure && reason.status === 0) {
        this._lose(reason);
      }
    } finally {
      this.refreshing = false;
      this.changed.emit();
    }
  }

  /** List another page of ended tasks. */
  showOlder(): void {
    this._endedLimit += PAGE;
    this._tasksSoon.ask();
  }

  summary(id: string): TaskSummary | null {
    return this.tasks?.find(task => task.id === id) ?? null;
  }

  group(id: string): Group | null {
    return this.groups.find(group => group.id === id) ?? null;
  }

  /** The number of the newest event that this page knows of a task, or of the group that it is a member of. */
  newest(id: string): number {
    return this.summary(id)?.version ?? this.group(id.split('-', 1)[0] ?? '')?.version ?? -1;
  }

  isDisposed = false;

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.isDisposed = true;
    this._services.events.stream.disconnect(this._onEvent, this);
    document.removeEventListener('visibilitychange', this._onReturn);
    window.removeEventListener('online', this._onReturn);
    window.clearTimeout(this._timer);
    this._tasksSoon.dispose();
    this._sitesSoon.dispose();
    this._loginSoon.dispose();
    this.login.dispose();
    this.proposals.dispose();
    this.agents.dispose();
    this.transfers.dispose();
    Signal.clearData(this);
  }

  private async _refetch(): Promise<void> {
    const [snapshot] = await Promise.all([this.api.sites(), this._fetchTasks(), this.login.fetch()]);
    this.snapshot = snapshot;
    this.link = { kind: 'ready' };
    this.proposals.hear('');
    this.transfers.hear();
    this.changed.emit();
  }

  private async _fetchTasks(): Promise<void> {
    const [active, ended, activeGroups, endedGroups] = await Promise.all([
      this.api.tasks('active', ACTIVE_LIMIT),
      this.api.tasks('ended', this._endedLimit + 1),
      this.api.groups('active', ACTIVE_LIMIT),
      this.api.groups('ended', PAGE)
    ]);
    this.more = ended.length > this._endedLimit;
    this._acceptGroups([...new Map([...activeGroups, ...endedGroups].map(group => [group.id, group])).values()]);
    // a task that ended between the two answers is in both: the later answer counts
    const newest = new Map([...active, ...ended.slice(0, this._endedLimit)].map(task => [task.id, task]));
    this._accept([...newest.values()]);
  }

  private _accept(tasks: TaskSummary[]): void {
    const ended = (task: TaskSummary) => (task.phase === 'ENDED' ? 1 : 0);
    tasks.sort((a, b) => ended(a) - ended(b) || b.created_at.localeCompare(a.created_at));
    const before = new Map(this.tasks?.map(task => [task.id, task]));
    const kept = keep(before, tasks);
    const moved = this.tasks === null ? [] : kept.filter(task => before.get(task.id)?.state !== task.state);
    const over = this.tasks === null ? [] : kept.filter(task => this._hasJustEnded(task, before.get(task.id)));
    this.tasks = kept;
    this.counts = tally(kept, this.groups);
    this.moved = new Set(moved.filter(task => before.has(task.id)).map(task => task.id));
    this._announce(moved);
    if (over.length > 0) {
      this.ended.emit(over);
    }
  }

  private _acceptGroups(groups: Group[]): void {
    const before = new Map(this.groups.map(group => [group.id, group]));
    this.groups = keep(before, groups);
    const over = this.tasks === null ? [] : this.groups.filter(each => this._hasJustEnded(each, before.get(each.id)));
    if (over.length > 0) {
      this.groupsEnded.emit(over);
    }
  }

  /** One that is new here may be an old one of another page of the list, or so short that nobody saw it run. */
  private _hasJustEnded(task: TaskSummary | Group, before: TaskSummary | Group | undefined): boolean {
    const isNew = Date.parse(task.created_at) - this.serverSkew >= this._openedAt;
    return task.phase === 'ENDED' && (before === undefined ? isNew : before.phase !== 'ENDED');
  }

  private _announce(moved: TaskSummary[]): void {
    if (moved.length > 3) {
      this.announced.emit(`${moved.length} tasks changed state`);
    } else if (moved.length > 0) {
      this.announced.emit(moved.map(task => `${task.name}: ${task.state.replace(/_/g, ' ')}`).join(', '));
    }
  }

  private async _guarded(fetch: () => Promise<void>): Promise<void> {
    if (this.link.kind !== 'ready') {
      return;
    }
    try {
      await fetch();
      this.changed.emit();
    } catch (reason) {
      this._lose(reason);
    }
  }

  private _lose(reason: unknown): void {
    if (this.isDisposed) {
      return;
    }
    if (reason instanceof ApiFailure && (reason.status === 404 || reason.status === 403)) {
      this.link = { kind: 'missing', status: reason.status };
    } else {
      const message = reason instanceof Error ? reason.message : String(reason);
      const since = this.link.kind === 'offline' ? this.link.since : Date.now() + this.serverSkew;
      this.link = { kind: 'offline', message, since };
    }
    this.changed.emit();
    this._schedule(this._retryMs);
    this._retryMs = Math.min(2 * this._retryMs, LAST_RETRY_MS);
  }

  private _schedule(delay: number): void {
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => {
      if (!document.hidden) {
        void this.check();
      }
      // a hidden page asks again when it is looked at (_onReturn)
    }, delay);
  }

  private _onEvent(_: Event.IManager, emission: Event.Emission): void {
    if (emission.schema_id !== SCHEMA) {
      return;
    }
    this._deafUntil = 0;
    // any client can post to the bus: an event is a hint to ask, nothing in it is believed
    if (typeof emission['version'] === 'number') {
      this._seen = Math.max(this._seen, emission['version']);
    }
    const { kind, id } = emission as { kind?: unknown; id?: unknown };
    if (kind === 'agents') {
      this.agents.hear();
      return;
    }
    if (kind === 'proposal') {
      this.proposals.hear(String(id));
      return;
    }
    if (kind === 'data') {
      return; // nothing here shows it
    }
    if (kind === 'transfer') {
      this.transfers.hear();
      return;
    }
    (kind === 'login' ? this._loginSoon : kind === 'site' ? this._sitesSoon : this._tasksSoon).ask();
  }

  private readonly _onReturn = (): void => {
    if (!document.hidden) {
      void this.check();
    }
  };

  private readonly _tasksSoon = new Coalescer(() => this._guarded(() => this._fetchTasks()));
  private readonly _sitesSoon = new Coalescer(() =>
    this._guarded(async () => {
      this.snapshot = await this.api.sites();
    })
  );
  private readonly _loginSoon = new Coalescer(() => this._guarded(() => this.login.fetch()));
  private readonly _services: ServiceManager.IManager;
  private readonly _openedAt = Date.now();
  private _seen = -1;
  private _endedLimit = PAGE;
  private _checking = false;
  private _deafUntil = 0;
  private _refreshMs = 30_000;
  private _retryMs = FIRST_RETRY_MS;
  private _timer = 0;
}

/** How many jobs are in which phase; those of groups count one by one. */
function tally(tasks: readonly TaskSummary[], groups: readonly Group[]): Counts {
  const of = (phase: string) => tasks.filter(task => task.phase === phase).length;
  const found = { running: of('RUNNING'), pending: of('PENDING'), unknown: of('UNKNOWN') };
  for (const group of groups) {
    for (const [state, count] of Object.entries(group.states)) {
      const word = PHASES[state];
      if (word !== undefined) {
        found[word] += count;
      }
    }
  }
  return found;
}

const PHASES: { readonly [state: string]: keyof Counts } = {
  waiting: 'pending',
  staging_in: 'pending',
  submitting: 'pending',
  pending: 'pending',
  configuring: 'pending',
  running: 'running',
  suspended: 'running',
  completing: 'running',
  staging_out: 'running',
  unknown: 'unknown',
  submit_unknown: 'unknown'
};

/** Equal rows keep their identity, so that React leaves them alone. */
function keep<T extends { id: string; version: number }>(before: ReadonlyMap<string, T>, rows: T[]): T[] {
  return rows.map(row => {
    const old = before.get(row.id);
    return old !== undefined && old.version === row.version && JSON.stringify(old) === JSON.stringify(row) ? old : row;
  });
}

/** `2 running · 1 pending`, or an empty string when nothing is active. */
export function countsLine(counts: Counts): string {
  const parts: string[] = [];
  for (const word of ['running', 'pending', 'unknown'] as const) {
    if (counts[word] > 0) {
      parts.push(`${counts[word]} ${word}`);
    }
  }
  return parts.join(' · ');
}
