import { ReactWidget } from '@jupyterlab/ui-components';
import { BoxLayout, BoxPanel } from '@lumino/widgets';
import * as React from 'react';

import { TaskPanel } from '../details';
import { GroupPanel } from '../groupdetails';
import type { ScreenContext } from '../screens/view';
import type { Line } from './lines';

/** One task or group beside the table: the same panel as in a tab of its own. */
export class DetailsPane extends BoxPanel {
  constructor(
    private readonly _context: ScreenContext,
    private readonly _close: () => void
  ) {
    super({ spacing: 0 });
    this.addClass('jp-diamond-pane');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Details');
    const bar = ReactWidget.create(<Bar toTab={() => this._toTab()} close={this._close} />);
    bar.addClass('jp-diamond-screen');
    bar.addClass('jp-diamond-panebar');
    BoxLayout.setStretch(bar, 0);
    BoxLayout.setSizeBasis(bar, 28);
    this.addWidget(bar);
    this.node.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        this._close();
      }
    });
  }

  /** Show another one; the tab that was chosen stays chosen. */
  present(line: Exclude<Line, { kind: 'wait' }>): void {
    if (line.id === this._shown) {
      return;
    }
    this._shown = line.id;
    const tab = this._panel instanceof TaskPanel ? this._panel.tab : 'log';
    this._panel?.dispose();
    const { pool, openTask } = this._context;
    if (line.kind === 'group') {
      this._panel = new GroupPanel(pool, line.id, openTask);
    } else {
      this._panel = new TaskPanel(pool, line.id);
      this._panel.tab = tab;
    }
    this._panel.id = `${this._panel.id}-beside`; // the same one may stand in a tab, too
    BoxLayout.setStretch(this._panel, 1);
    this.addWidget(this._panel);
  }

  empty(): void {
    this._panel?.dispose();
    this._panel = null;
    this._shown = '';
  }

  private _toTab(): void {
    const panel = this._panel;
    if (panel instanceof TaskPanel) {
      this._context.openTask(panel.taskId);
    } else if (panel instanceof GroupPanel) {
      this._context.openGroup(panel.groupId);
    }
  }

  private _panel: TaskPanel | GroupPanel | null = null;
  private _shown = '';
}

function Bar(props: { toTab: () => void; close: () => void }): JSX.Element {
  return (
    <>
      <button type="button" className="jp-diamond-link" data-action="to-tab" onClick={props.toTab}>
        Open in a tab
      </button>
      <span className="jp-diamond-spring" />
      <button type="button" className="jp-diamond-link" data-action="close-details" onClick={props.close}>
        Close
      </button>
    </>
  );
}
