/**
 * All tasks by their ids. Pages are read once; from then on only what has changed since the newest event that is known.
 * The pool says when to look: after an event, and after the server was out of reach.
 */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import type { Group, MemberSummary, TaskSummary } from '../api-types';
import { Coalescer } from '../coalesce';
import type { PoolModel } from '../pool';

const PAGE = 1000;
/** So many are read without being asked; the rest on request. */
export const FIRST = 10_000;
const MOST_MEMBERS = 10_000;

export class TaskBook implements IDisposable {
  constructor(private readonly _pool: PoolModel) {
    _pool.changed.connect(this._onPool, this);
  }

  readonly changed = new Signal<this, void>(this);
  /** Newest first; null until the first page is there. */
  tasks: readonly TaskSummary[] | null = null;
  groups: readonly Group[] = [];
  /** The server has older ones than are here. */
  more = false;
  reading = false;
  problem = '';

  /** Of a group that was unfolded; null while they are being read. */
  members(group: string): readonly MemberSummary[] | null {
    return this._members.get(group)?.rows ?? null;
  }

  find(id: string): TaskSummary | null {
    return this._byId.get(id) ?? null;
  }

  watch(watched: boolean): void {
    this._watched = watched;
    this._onPool();
  }

  /** Read a group's members, now and whenever the group has changed. */
  unfold(group: string, open: boolean): void {
    if (open) {
      this._members.set(group, this._members.get(group) ?? { version: -1, rows: null });
      this._membersSoon.ask();
    } else {
      this._members.delete(group);
    }
  }

  /** Another ten thousand older ones. */
  async older(): Promise<void> {
    this._wanted += FIRST;
    await this._readPages();
  }

  isDisposed = false;

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.isDisposed = true;
    this._pool.changed.disconnect(this._onPool, this);
    this._soon.dispose();
    this._membersSoon.dispose();
    Signal.clearData(this);
  }

  private _onPool(): void {
    if (!this._watched || this._pool.link.kind !== 'ready') {
      return;
    }
    // the pool makes new lists each time it has asked the server: nothing else can be news to us
    if (this._pool.tasks !== this._seenTasks || this._pool.groups !== this.groups) {
      this._seenTasks = this._pool.tasks;
      this.groups = this._pool.groups;
      this._soon.ask();
      this._membersSoon.ask();
      this.changed.emit();
    }
  }

  private async _read(): Promise<void> {
    try {
      if (!this._complete) {
        await this._readPages();
      }
      await this._readNewer();
      this._failed('');
    } catch (reason) {
      this._failed(reason instanceof Error ? reason.message : String(reason));
    }
  }

  /** Pages until there are as many as are wanted; what stands already can be seen meanwhile. */
  private async _readPages(): Promise<void> {
    if (this.reading) {
      return;
    }
    this.reading = true;
    try {
      for (;;) {
        const last = this.tasks?.[this.tasks.length - 1]?.id ?? null;
        const page = await this._pool.api.page(this._cursor ?? last, PAGE);
        if (this.isDisposed) {
          return;
        }
        // nothing that changed after the first page was read may be missed: later pages do not move this
        this._newest ??= page.reduce((most, task) => Math.max(most, task.version), 0);
        this._cursor = page[page.length - 1]?.id ?? this._cursor;
        this.more = page.length === PAGE;
        this._accept(page);
        if (!this.more || this._byId.size >= this._wanted) {
          break;
        }
      }
      this._complete = true;
    } finally {
      this.reading = false;
      this.changed.emit();
    }
  }

  private async _readNewer(): Promise<void> {
    for (;;) {
      const page = await this._pool.api.newer(this._newest ?? 0, PAGE);
      if (this.isDisposed) {
        return;
      }
      this._newest = page.reduce((most, task) => Math.max(most, task.version), this._newest ?? 0);
      this._accept(page);
      if (page.length < PAGE) {
        return;
      }
    }
  }

  private _accept(page: readonly TaskSummary[]): void {
    const fresh = page.filter(task => (this._byId.get(task.id)?.version ?? -1) < task.version);
    for (const task of fresh) {
      this._byId.set(task.id, task);
    }
    if (fresh.length > 0 || this.tasks === null) {
      this.tasks = [...this._byId.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0));
      this.changed.emit();
    }
  }

  private async _readMembers(): Promise<void> {
    for (const [id, known] of this._members) {
      const version = this._pool.group(id)?.version ?? 0;
      if (known.rows !== null && known.version === version) {
        continue;
      }
      try {
        const rows = await this._pool.api.members(id, [], MOST_MEMBERS);
        if (this._members.has(id)) {
          this._members.set(id, { version, rows });
        }
      } catch (reason) {
        this.problem = reason instanceof Error ? reason.message : String(reason);
      }
      if (!this.isDisposed) {
        this.changed.emit();
      }
    }
  }

  private _failed(problem: string): void {
    if (problem !== this.problem && !this.isDisposed) {
      this.problem = problem;
      this.changed.emit();
    }
  }

  private readonly _soon = new Coalescer(() => this._read());
  private readonly _membersSoon = new Coalescer(() => this._readMembers(), 1000);
  private readonly _byId = new Map<string, TaskSummary>();
  private readonly _members = new Map<string, { version: number; rows: readonly MemberSummary[] | null }>();
  private _seenTasks: unknown = undefined;
  private _newest: number | undefined = undefined;
  private _cursor: string | null = null;
  private _wanted = FIRST;
  private _complete = false;
  private _watched = false;
}
