/** What stands in the sheet, how the server reads it, and where it would go now. */

import { UUID } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import type { Decision, Draft, LineRead } from '../api-types';
import type { PoolModel } from '../pool';
import type { Kind, LaunchDesk, Seed } from './desk';
import { Values, said } from './fields';

const TYPING_MS = 200;
/** What was planned is planned again when it is as old as this, while somebody looks. */
const PLAN_MS = 30_000;

export type Sheet = Omit<Seed, 'values'> & { readonly values: Values };

const EMPTY: Sheet = {
  kind: 'command',
  source: '',
  name: '',
  language: 'bash',
  outputs: '',
  values: {},
  rest: '',
  path: '',
  target: null
};

export class LaunchModel implements IDisposable {
  constructor(
    readonly pool: PoolModel,
    readonly desk: LaunchDesk,
    private readonly _openTask: (id: string) => void
  ) {
    desk.brought.connect(this._onBrought, this);
    this._onBrought();
  }

  readonly changed = new Signal<this, void>(this);
  sheet: Sheet = EMPTY;
  read: LineRead | null = null;
  decision: Decision | null = null;
  /** Why it could not be read or planned. */
  problem = '';
  busy = false;
  /** Why it was not launched, or what was done. */
  told: { readonly kind: 'problem' | 'done'; readonly text: string } | null = null;
  launching = false;
  draft: Draft | null = null;
  drafting = false;

  /** The line as it would stand in a cell; empty while something is wrong. */
  get line(): string {
    const line = this.read?.line ?? '';
    return line === '' || !this.inKernel || this.sheet.rest.trim() === '' ? line : `${line} ${this.sheet.rest.trim()}`;
  }

  /** It goes through a notebook's kernel; a file and a command go straight to the server. */
  get inKernel(): boolean {
    return this.sheet.kind === 'cell' || this.sheet.kind === 'selection';
  }

  /** What was read is what stands there now: nothing else is ever sent. */
  get fresh(): boolean {
    return this._readOf === asRead(this.sheet, this.inKernel);
  }

  /** What keeps it from being launched; empty when nothing does. */
  get obstacle(): string {
    if (this.sheet.source.trim() === '') {
      return { cell: 'Take a cell first.', selection: 'Take a cell first.', file: 'Name a file first.', command: 'Write a command first.' }[
        this.sheet.kind
      ];
    }
    if (!this.fresh) {
      return this.problem === '' ? 'It is being read.' : 'The server has not read it: see where it would go.';
    }
    if (Object.keys(this.read?.problems ?? {}).length > 0) {
      return 'A field is not right yet.';
    }
    if (this.decision !== null && this.decision.chosen === null) {
      return 'Nothing can take it now: see where it would go.';
    }
    return this.read === null || this.line === '' || this.decision === null ? 'Not read yet.' : '';
  }

  set(changes: Partial<Sheet>): void {
    this.sheet = { ...this.sheet, ...changes };
    if (this.sheet.language === 'bash' && this.sheet.outputs !== '') {
      this.sheet = { ...this.sheet, outputs: '' }; // a shell has no variables that come back
    }
    this._token = '';
    this.told = null;
    this.changed.emit();
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => void this._ask(), TYPING_MS);
  }

  setValue(option: string, text: string): void {
    this.set({ values: { ...this.sheet.values, [option]: text } });
  }

  become(kind: Kind): void {
    const found = kind === 'cell' ? this.desk.cell() : null;
    if (found !== null) {
      this._take(found);
    } else {
      const language = kind === 'command' ? 'bash' : 'python';
      this.set({ kind, language, source: '', path: '', target: null, rest: '' });
    }
  }

  async readFile(path: string): Promise<void> {
    this.set({ path, source: '' });
    try {
      const seed = await this.desk.file(path);
      if (this.sheet.path === path) {
        this._take(seed);
      }
    } catch (reason) {
      this._tell('problem', sentence(reason));
    }
  }

  watch(watched: boolean): void {
    window.clearInterval(this._again);
    if (watched) {
      void this._ask();
      this._again = window.setInterval(() => void this._ask(true), PLAN_MS);
    }
  }

  async askDraft(words: string): Promise<void> {
    const { source, language, values } = this.sheet;
    this.drafting = true;
    this.draft = null;
    this.told = null;
    this.changed.emit();
    try {
      this.draft = await this.pool.api.draft({ words, code: source, cell: source, language, given: said(values) });
    } catch (reason) {
      this._tell('problem', `No draft was made: ${sentence(reason)}`);
    }
    this.drafting = false;
    this.changed.emit();
  }

  /** Take over what was drafted, or leave it. */
  endDraft(use: boolean): void {
    const options = this.draft?.options ?? {};
    this.draft = null;
    if (use) {
      const drafted = Object.fromEntries(Object.entries(options).map(([name, text]) => [name, text === '' ? 'yes' : text]));
      this.set({ values: { ...this.sheet.values, ...drafted } });
    }
    this.changed.emit();
  }

  /** Put the line into the notebook, and run it where that is asked. */
  writeCell(run: boolean): void {
    const { source, target, kind } = this.sheet;
    if (!this.fresh || this.line === '') {
      return;
    }
    try {
      target?.write(`${this.line}\n${source}`, kind === 'selection');
      if (run) {
        target?.run();
      }
      this._tell('done', run ? `The cell runs in ${this.sheet.path}; its card follows there.` : `The line stands in ${this.sheet.path}.`);
    } catch (reason) {
      this._tell('problem', sentence(reason));
    }
  }

  async launch(): Promise<void> {
    if (this.launching || this.obstacle !== '' || this.read?.envelope == null) {
      return;
    }
    if (this.inKernel) {
      this.writeCell(true);
      return;
    }
    const { name, source, language, outputs, path } = this.sheet;
    // until the sheet is changed it is one and the same launch, however often it is sent
    this._token = this._token === '' ? UUID.uuid4() : this._token;
    const form = { client_token: this._token, name: name.trim(), source, language, outputs, envelope: this.read.envelope };
    this.launching = true;
    this.told = null;
    this.changed.emit();
    try {
      const { task, attached } = await this.pool.api.launch({ ...form, path: path === '' ? null : path });
      this._tell('done', attached ? `${task.name} runs this already; it is shown.` : `${task.name} was launched. ${task.why_here}`);
      this._openTask(task.id);
    } catch (reason) {
      this._tell('problem', `It was not launched: ${sentence(reason)}`);
    }
    this.launching = false;
    this.changed.emit();
  }

  isDisposed = false;

  dispose(): void {
    if (!this.isDisposed) {
      this.isDisposed = true;
      this.desk.brought.disconnect(this._onBrought, this);
      window.clearTimeout(this._timer);
      window.clearInterval(this._again);
      Signal.clearData(this);
    }
  }

  private _onBrought(): void {
    const { seed, values } = this.desk.taken();
    if (seed !== null) {
      this._take(seed);
    }
    if (Object.keys(values).length > 0) {
      this.set({ values: { ...this.sheet.values, ...values } });
    }
  }

  /** What is typed already holds where the new one says nothing of its own. */
  private _take(seed: Seed): void {
    this.draft = null;
    const values = Object.keys(seed.values).length > 0 ? seed.values : this.sheet.values;
    this.set({ ...seed, name: seed.name === '' ? this.sheet.name : seed.name, values });
  }

  private _tell(kind: 'problem' | 'done', text: string): void {
    this.told = { kind, text };
    this.changed.emit();
  }

  /** Read the fields, then plan; the newest question is the one whose answer counts. */
  private async _ask(anew = false): Promise<void> {
    const mine = (this._asked += 1);
    const asked = asRead(this.sheet, this.inKernel);
    this.busy = true;
    this.changed.emit();
    try {
      const read = await this.pool.api.readLine(JSON.parse(asked));
      if (mine !== this._asked || this.isDisposed) {
        return;
      }
      this.read = read;
      this._readOf = asked;
      const envelope = JSON.stringify(read.envelope);
      if (read.envelope !== null && (anew || envelope !== this._planned || this.problem !== '')) {
        this.changed.emit();
        const decision = await this.pool.api.plan(read.envelope);
        if (mine !== this._asked || this.isDisposed) {
          return;
        }
        this.decision = decision;
        this._planned = envelope;
      }
      this.problem = '';
    } catch (reason) {
      if (mine !== this._asked || this.isDisposed) {
        return;
      }
      this.problem = sentence(reason);
    }
    this.busy = false;
    this.changed.emit();
  }

  private _asked = 0;
  private _readOf = '';
  private _planned = '';
  private _token = '';
  private _timer = 0;
  private _again = 0;
}

/** What the server is asked to read, as text. */
function asRead(sheet: Sheet, inKernel: boolean): string {
  const { name, language, outputs, values } = sheet;
  return JSON.stringify({ name, language, outputs, in_cell: inKernel, options: said(values) });
}

function sentence(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
