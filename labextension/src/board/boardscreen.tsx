import type { Message } from '@lumino/messaging';
import { SplitPanel, Widget } from '@lumino/widgets';
import * as React from 'react';

import { Notice } from '../notice';
import { ScreenContext, ScreenView } from '../screens/view';
import { useSignal } from '../signal';
import { BoardModel } from './boardmodel';
import { BoardTable } from './boardtable';
import { Bulk, Filters } from './boardtools';
import { actOnChosen } from './bulk';
import { DetailsPane } from './detailspane';
import type { Line } from './lines';

/** Below this width the details stand under the table, not beside it. */
const BESIDE_PX = 1000;

/** All tasks and groups in the main area, with the details of one of them beside. */
export class BoardScreen extends SplitPanel {
  constructor(context: ScreenContext) {
    super({ orientation: 'horizontal', spacing: 4 });
    this.addClass('jp-diamond-boardscreen');
    this._view = new BoardView(context, line => this._open(line));
    this._pane = new DetailsPane(context, () => this._close());
    this._pane.hide();
    this.addWidget(this._view);
    this.addWidget(this._pane);
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this._view.activate();
  }

  protected override onResize(message: Widget.ResizeMessage): void {
    super.onResize(message);
    const wanted = message.width < 0 || message.width >= BESIDE_PX ? 'horizontal' : 'vertical';
    if (this.orientation !== wanted) {
      this.orientation = wanted;
    }
  }

  private _open(line: Line): void {
    if (line.kind === 'wait') {
      return;
    }
    this._pane.present(line);
    if (this._pane.isHidden) {
      this._pane.show();
      this.setRelativeSizes([5, 4]);
    }
  }

  private _close(): void {
    this._pane.hide();
    this._pane.empty();
    this._view.activate();
  }

  private readonly _view: BoardView;
  private readonly _pane: DetailsPane;
}

class BoardView extends ScreenView {
  constructor(
    context: ScreenContext,
    private readonly _open: (line: Line) => void
  ) {
    super(context.pool);
    this.id = 'jupyter-diamond-board';
    this.addClass('jp-diamond-screen');
    this.addClass('jp-diamond-boardview');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Diamond tasks');
    this._model = new BoardModel(context.pool);
    this.watchedChanged.connect((_, watched) => this._model.book.watch(watched));
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._model.dispose();
      super.dispose();
    }
  }

  protected override draw(): JSX.Element {
    return <Board model={this._model} id={this.id} open={this._open} takesFocus={() => this._takesFocus()} />;
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    const grid = this.node.querySelector<HTMLElement>('[role="treegrid"]');
    grid?.focus();
    this._wanted = grid === null;
  }

  /** Whether the table is to take the keys as soon as it stands: it was not there yet when the screen was opened. */
  private _takesFocus(): boolean {
    const wanted = this._wanted;
    this._wanted = false;
    return wanted;
  }

  private _wanted = false;
  private readonly _model: BoardModel;
}

interface BoardProps {
  readonly model: BoardModel;
  readonly id: string;
  readonly open: (line: Line) => void;
  readonly takesFocus: () => boolean;
}

function Board(props: BoardProps): JSX.Element {
  const { model, id, open, takesFocus } = props;
  const { pool, book } = model;
  useSignal(model.changed);
  useSignal(pool.changed);
  const empty = book.tasks !== null && book.tasks.length === 0 && book.groups.length === 0;
  return (
    <>
      <Notice pool={pool} />
      <Filters model={model} />
      <Bulk model={model} act={act => void actOnChosen(model, act)} />
      {book.problem !== '' && <p className="jp-diamond-problem">The list is not complete: {book.problem}</p>}
      {book.tasks === null && book.problem === '' && pool.link.kind !== 'missing' && (
        <p className="jp-diamond-empty">Reading the tasks…</p>
      )}
      {empty && (
        <p className="jp-diamond-empty" data-part="no-tasks">
          No tasks yet. Start a cell with <code>%%diamond_submit</code>: it shows here at once.
        </p>
      )}
      {!empty && book.tasks !== null && model.lines.length === 0 && (
        <p className="jp-diamond-empty" data-part="none-found">
          No task is found with this filter. Clear a part of it to see more.
        </p>
      )}
      {book.tasks !== null && !empty && <BoardTable {...{ model, id, open, takesFocus }} />}
    </>
  );
}
