/** What a task brought back, below its card where no kernel stands behind it. Foreign data: never trusted, never run. */

import type { IOutputModel, IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { OutputModel } from '@jupyterlab/rendermime';
import { Panel, Widget } from '@lumino/widgets';

import type { PoolApi } from './api';
import type { Task } from './api-types';

type Output = IOutputModel.IOptions['value'];

const SVG = 'image/svg+xml';
const TEXT = 'text/plain';
/** Widgets live in a kernel, and this one is gone. */
const WIDGET = 'application/vnd.jupyter.widget-view+json';

export class KeptOutputs extends Panel {
  constructor(
    private readonly _rendermime: IRenderMimeRegistry,
    private readonly _api: PoolApi
  ) {
    super();
    this.addClass('jp-diamond-keptoutputs');
  }

  /** Show what the task has brought back; it is fetched once an attempt, and again when that failed. */
  async follow(task: Task): Promise<void> {
    const attempt = task.attempts[task.attempts.length - 1];
    const key = `${task.id} ${attempt?.n ?? 0}`;
    const there = attempt?.result_ready === true || (task.phase === 'ENDED' && task.outcome !== 'CANCELLED');
    if (!there || attempt === undefined || this._asked === key) {
      return;
    }
    this._asked = key;
    try {
      const { outputs } = await this._api.result(task.id);
      await this._draw(outputs as unknown as Output[]);
    } catch (reason) {
      this._asked = '';
      if (attempt.result_ready) {
        this._say(reason instanceof Error ? reason.message : String(reason));
      }
    }
  }

  private async _draw(outputs: Output[]): Promise<void> {
    const drawn = await Promise.all(outputs.map(output => this._drawn(output)));
    if (!this.isDisposed) {
      this._clear();
      drawn.forEach(each => each !== null && this.addWidget(each));
    }
  }

  private async _drawn(value: Output): Promise<Widget | null> {
    const model = new OutputModel({ value, trusted: false });
    const data = { ...model.data };
    delete data[WIDGET];
    // 'ensure': only renderers that are safe with data of strangers
    const type = this._rendermime.preferredMimeType(data, 'ensure');
    const svg = data[SVG];
    if ((type === undefined || type === TEXT) && typeof svg === 'string') {
      return picture(svg, data[TEXT]);
    }
    if (type === undefined) {
      return null;
    }
    const renderer = this._rendermime.createRenderer(type);
    renderer.addClass('jp-OutputArea-output');
    await renderer.renderModel(model);
    return renderer;
  }

  private _say(sentence: string): void {
    if (!this.isDisposed) {
      this._clear();
      const line = new Widget({ node: document.createElement('p') });
      line.addClass('jp-diamond-fine');
      line.node.textContent = `Its outputs cannot be fetched now: ${sentence}`;
      this.addWidget(line);
    }
  }

  private _clear(): void {
    [...this.widgets].forEach(each => each.dispose());
  }

  private _asked = '';
}

/** An SVG as a picture: nothing in it runs, and it loads nothing. */
function picture(svg: string, alt: unknown): Widget {
  const image = document.createElement('img');
  image.src = `data:${SVG};charset=utf-8,${encodeURIComponent(svg)}`;
  image.alt = typeof alt === 'string' ? alt : '';
  return new Widget({ node: image });
}
