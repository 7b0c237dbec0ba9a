/** What shall be launched, brought to the sheet from wherever the user is: a cell, a selection, a file, a place. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Signal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';

import { Values, nameOf, splitCell } from './fields';

export type Kind = 'cell' | 'selection' | 'file' | 'command';

export interface Seed {
  readonly kind: Kind;
  readonly source: string;
  readonly name: string;
  readonly language: 'python' | 'bash';
  readonly outputs: string;
  readonly values: Values;
  /** What else stands on a cell's line. */
  readonly rest: string;
  /** The notebook's, or the file's. */
  readonly path: string;
  readonly target: CellTarget | null;
}

const BLANK: Omit<Seed, 'kind'> = {
  source: '',
  name: '',
  language: 'python',
  outputs: '',
  values: {},
  rest: '',
  path: '',
  target: null
};

/** As much of JupyterLab's notebook as is needed: its own package would be another dependency for a few names. */
interface Cell {
  readonly model: { readonly id: string; readonly type: string; readonly sharedModel: { source: string } };
  readonly editor: Editor | null;
}

interface Editor {
  getSelection(): { start: { line: number; column: number }; end: { line: number; column: number } };
  getOffsetAt(position: { line: number; column: number }): number;
}

interface NotebookPanel extends Widget {
  readonly context: { readonly path: string };
  readonly sessionContext: {
    readonly session: {
      readonly kernel: {
        requestExecute(content: { code: string; silent: boolean; store_history: boolean }): unknown;
      } | null;
    } | null;
  };
  readonly content: {
    readonly activeCell: Cell | null;
    activeCellIndex: number;
    readonly widgets: readonly Cell[];
    readonly model: {
      readonly sharedModel: { insertCell(index: number, cell: { cell_type: 'code'; source: string }): unknown };
    } | null;
  };
}

function isNotebook(widget: Widget | null): widget is NotebookPanel {
  return widget !== null && widget.hasClass('jp-NotebookPanel') && 'content' in widget;
}

/** Where a launched cell stands in its notebook. */
export class CellTarget {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _panel: NotebookPanel,
    private readonly _id: string
  ) {}

  /** Put the text there, in place of the cell or into a new one below it. Raises what to do when it is gone. */
  write(text: string, below: boolean): void {
    let at = this._at();
    if (below) {
      at += 1;
      this._insert(at, text);
    } else {
      const cell = this._panel.content.widgets[at];
      if (cell !== undefined) {
        cell.model.sharedModel.source = text;
      }
    }
    if (!this._panel.content.widgets.some(cell => LOADS.test(cell.model.sharedModel.source))) {
      this._insert(at, LOAD);
      at += 1;
    }
    this._panel.content.activeCellIndex = at;
    this._app.shell.activateById(this._panel.id);
  }

  /** Through the notebook's own kernel, as the user would; it has to know the magic first. */
  run(): void {
    const { content } = this._panel;
    const at = content.activeCellIndex;
    if (content.widgets[at - 1]?.model.sharedModel.source === LOAD) {
      content.activeCellIndex = at - 1;
      this._run();
      content.activeCellIndex = at;
    } else {
      this._panel.sessionContext.session?.kernel?.requestExecute({ code: LOAD_ONCE, silent: true, store_history: false });
    }
    this._run();
  }

  private _run(): void {
    void this._app.commands.execute('notebook:run-cell', { semanticWidget: this._panel.id });
  }

  private _at(): number {
    const at = this._panel.isDisposed ? -1 : this._panel.content.widgets.findIndex(cell => cell.model.id === this._id);
    if (at < 0) {
      throw new Error('The cell, or its notebook, has been closed since. Take a cell anew.');
    }
    return at;
  }

  private _insert(at: number, source: string): void {
    this._panel.content.model?.sharedModel.insertCell(at, { cell_type: 'code', source });
  }
}

const LOAD = '%load_ext jupyter_diamond';
const LOADS = /^\s*%(re)?load_ext\s+jupyter_diamond/m;
/** A kernel that was restarted has forgotten it, and one that has not would say so. */
const LOAD_ONCE = `if "jupyter_diamond" not in get_ipython().extension_manager.loaded:
    get_ipython().run_line_magic("load_ext", "jupyter_diamond")`;

export class LaunchDesk {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _open: () => void
  ) {}

  /** Something was brought; `taken` is how a sheet gets it. */
  readonly brought = new Signal<this, void>(this);

  taken(): { seed: Seed | null; values: Values } {
    const found = { seed: this._seed, values: this._values };
    this._seed = null;
    this._values = {};
    return found;
  }

  bring(seed: Seed): void {
    this._seed = seed;
    this._open();
    this.brought.emit();
  }

  /** The sheet as it is, pinned to a place, with whatever else was asked there. */
  here(site: string, partition: string, values: Values = {}): void {
    this._values = { ...values, sites: '', site: partition === '' ? site : `${site}:${partition}` };
    this._open();
    this.brought.emit();
  }

  /** The active cell of the notebook that is used, or was last; its selection alone where that is asked for. */
  cell(kind: 'cell' | 'selection' = 'cell'): Seed | null {
    const panel = this._notebook();
    const cell = panel?.content.activeCell ?? null;
    if (panel === null || cell === null || cell.model.type !== 'code') {
      return null;
    }
    const { line, code } = splitCell(cell.model.sharedModel.source);
    const target = new CellTarget(this._app, panel, cell.model.id);
    const common = { ...BLANK, kind, path: panel.context.path, target };
    if (kind === 'selection') {
      const source = selected(cell);
      return source.trim() === '' ? null : { ...common, source };
    }
    return { ...common, source: code, ...(line ?? {}) };
  }

  /** A script by its path. Raises what is wrong with it. */
  async file(path: string): Promise<Seed> {
    if (!isScript(path)) {
      throw new Error(`${path === '' ? 'Nothing' : path} is no script: name a file that ends in .py or .sh.`);
    }
    let content: unknown;
    try {
      content = (await this._app.serviceManager.contents.get(path, { type: 'file', format: 'text', content: true })).content;
    } catch (reason) {
      throw new Error(`${path} cannot be read: ${reason instanceof Error ? reason.message : String(reason)}`);
    }
    const language = path.endsWith('.py') ? 'python' : 'bash';
    return { ...BLANK, kind: 'file', source: String(content), name: nameOf(path), language, path };
  }

  /** What is chosen in the file browser. */
  chosenFile(): string | null {
    for (const widget of this._app.shell.widgets('left')) {
      if (widget.id === 'filebrowser' && 'selectedItems' in widget) {
        const [item] = [...(widget as unknown as { selectedItems(): Iterable<{ path: string }> }).selectedItems()];
        return item !== undefined && isScript(item.path) ? item.path : null;
      }
    }
    return null;
  }

  private _notebook(): NotebookPanel | null {
    const current = this._app.shell.currentWidget;
    if (isNotebook(current)) {
      this._last = current;
    } else if (this._last === null || this._last.isDisposed) {
      this._last = [...this._app.shell.widgets('main')].filter(isNotebook).pop() ?? null;
    }
    return this._last;
  }

  private _seed: Seed | null = null;
  private _values: Values = {};
  private _last: NotebookPanel | null = null;
}

export function isScript(path: string): boolean {
  return /\.(py|sh|bash)$/.test(path);
}

function selected(cell: Cell): string {
  if (cell.editor === null) {
    return '';
  }
  const { start, end } = cell.editor.getSelection();
  const [a, b] = [cell.editor.getOffsetAt(start), cell.editor.getOffsetAt(end)];
  return cell.model.sharedModel.source.slice(Math.min(a, b), Math.max(a, b));
}
