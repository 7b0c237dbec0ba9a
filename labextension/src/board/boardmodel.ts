/** What the table of tasks shows, what is chosen in it, and where the keyboard stands. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import type { PoolModel } from '../pool';
import { Filter, Line, NEWEST_FIRST, NO_FILTER, Order, SortBy, choices, linesOf } from './lines';
import type { Chosen } from './acts';
import { TaskBook } from './taskbook';

export class BoardModel implements IDisposable {
  constructor(readonly pool: PoolModel) {
    this.book = new TaskBook(pool);
    this.book.changed.connect(this._onBook, this);
  }

  readonly changed = new Signal<this, void>(this);
  readonly book: TaskBook;
  filter: Filter = NO_FILTER;
  order: Order = NEWEST_FIRST;
  lines: readonly Line[] = [];
  sites: readonly string[] = [];
  notebooks: readonly string[] = [];
  chosen: ReadonlySet<string> = new Set();
  /** The line that the keyboard stands on. */
  active = '';
  /** What came of the last act on many; empty while there was none. */
  said = '';
  busy = '';

  get index(): number {
    return this._at.get(this.active) ?? -1;
  }

  get isFiltered(): boolean {
    const { words, state, site, notebook } = this.filter;
    return words.length > 0 || state !== 'any' || site !== '' || notebook !== '';
  }

  narrow(change: Partial<Filter>): void {
    this.filter = { ...this.filter, ...change };
    this._redraw();
  }

  sort(by: SortBy): void {
    const down = this.order.by === by ? !this.order.down : by === 'submitted' || by === 'time';
    this.order = { by, down };
    this._redraw();
  }

  fold(group: string, open = !this._open.has(group)): void {
    if (open === this._open.has(group)) {
      return;
    }
    if (open) {
      this._open.add(group);
    } else {
      this._open.delete(group);
    }
    this.book.unfold(group, open);
    this._redraw();
  }

  stand(id: string): void {
    if (id !== this.active) {
      this.active = id;
      this.changed.emit();
    }
  }

  /** Steps from line to line; `keep` takes the lines on the way along. */
  step(by: number, keep = false): void {
    const to = Math.min(this.lines.length - 1, Math.max(0, (this.index < 0 ? (by > 0 ? -1 : 0) : this.index) + by));
    const next = this.lines[to];
    if (next === undefined) {
      return;
    }
    if (keep) {
      this.choose(this.active, true);
      this.choose(next.id, true);
    }
    this.stand(next.id);
  }

  choose(id: string, on = !this.chosen.has(id)): void {
    const line = this.lines[this._at.get(id) ?? -1];
    if (line === undefined || line.kind === 'wait') {
      return;
    }
    const next = new Set(this.chosen);
    if (on) {
      next.add(id);
    } else {
      next.delete(id);
    }
    this.chosen = next;
    this.changed.emit();
  }

  /** Every line that the filter leaves; members count with their group. */
  chooseAll(on: boolean): void {
    const tops = this.lines.filter(line => line.kind === 'task' || line.kind === 'group');
    this.chosen = on ? new Set(tops.map(line => line.id)) : new Set();
    this.changed.emit();
  }

  get chosenLines(): readonly Chosen[] {
    return this.lines.filter((line): line is Chosen => line.kind !== 'wait' && this.chosen.has(line.id));
  }

  tell(said: string, busy = ''): void {
    this.said = said;
    this.busy = busy;
    this.changed.emit();
  }

  isDisposed = false;

  dispose(): void {
    if (!this.isDisposed) {
      this.isDisposed = true;
      this.book.dispose();
      Signal.clearData(this);
    }
  }

  private _onBook(): void {
    const given = { tasks: this.book.tasks ?? [], groups: this.book.groups };
    if (given.tasks !== this._tasks || given.groups !== this._groups) {
      this._tasks = given.tasks;
      this._groups = given.groups;
      ({ sites: this.sites, notebooks: this.notebooks } = choices(given));
    }
    this._redraw();
  }

  private _redraw(): void {
    const before = new Map(this.lines.map(line => [line.id, line]));
    const given = {
      tasks: this.book.tasks ?? [],
      groups: this.book.groups,
      open: this._open,
      members: (group: string) => this.book.members(group),
      now: Date.now() + this.pool.serverSkew
    };
    this.lines = linesOf(given, this.filter, this.order).map(line => same(before.get(line.id), line));
    this._at = new Map(this.lines.map((line, at) => [line.id, at]));
    // what the filter hides is not acted upon
    if ([...this.chosen].some(id => !this._at.has(id))) {
      this.chosen = new Set([...this.chosen].filter(id => this._at.has(id)));
    }
    this.changed.emit();
  }

  private readonly _open = new Set<string>();
  private _at: ReadonlyMap<string, number> = new Map();
  private _tasks: unknown = null;
  private _groups: unknown = null;
}

/** The old line where the new one says the same: React leaves its row alone. */
function same(before: Line | undefined, now: Line): Line {
  if (before === undefined || before.kind !== now.kind) {
    return now;
  }
  if ((before.kind === 'task' && now.kind === 'task') || (before.kind === 'member' && now.kind === 'member')) {
    return before.task === now.task ? before : now;
  }
  return before.kind === 'group' && now.kind === 'group' && before.group === now.group && before.open === now.open
    ? before
    : now;
}
