/**
 * Draws a live card in a notebook. The card itself is a widget of the kernel; where that kernel is gone (restarted, or
 * the notebook was saved while the job ran and is opened again) the task is shown as the server knows it, and where
 * the server does not know it either, as the notebook has kept it.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ISessionContext } from '@jupyterlab/apputils';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { Message } from '@lumino/messaging';
import type { Widget } from '@lumino/widgets';
import { Panel } from '@lumino/widgets';

import { KeptCard } from './keptcard';
import { KeptGroup } from './keptgroup';
import { KeptOutputs } from './keptoutputs';
import type { PoolModel } from './pool';

export const CARD = 'application/vnd.jupyter-diamond.card+json';
const WIDGET = 'application/vnd.jupyter.widget-view+json';
const HTML = 'text/html';
/** ipywidgets registers its own type at -10 in every notebook. */
const RANK = -20;
const LIVE = '.jd-live';
/** What ipywidgets writes on a widget whose kernel is gone. */
const DEAD = '.jupyter-widgets-disconnected';

/** What a card is about: one task, or one group. */
type About = { readonly task?: string; readonly group?: string };
type Open = { readonly task: (id: string) => void; readonly group: (id: string) => void };

/** Teach every notebook that is opened from now on to draw cards. */
export function drawCards(app: JupyterFrontEnd, pool: PoolModel, open: Open): void {
  app.docRegistry.addWidgetExtension('Notebook', {
    createNew: (panel, context) => {
      const { rendermime } = (panel as unknown as { content: { rendermime: IRenderMimeRegistry } }).content;
      rendermime.addFactory(
        {
          safe: false,
          mimeTypes: [CARD],
          createRenderer: () => new CardRenderer(rendermime, context.sessionContext, pool, open)
        },
        RANK
      );
    }
  });
}

class CardRenderer extends Panel implements IRenderMime.IRenderer {
  constructor(
    private readonly _rendermime: IRenderMimeRegistry,
    private readonly _session: ISessionContext,
    private readonly _pool: PoolModel,
    private readonly _open: Open
  ) {
    super();
    this.addClass('jp-diamond-card');
    this._watch = new MutationObserver(() => this._choose());
    _session.statusChanged.connect(this._onSession, this);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._model = model;
    const about = model.data[CARD] as About;
    if (this._server?.about !== (about.group ?? about.task)) {
      this._server?.dispose();
      this._outputs?.dispose();
      this._server = this._keep(about);
      this.addWidget(this._server);
      this._outputs = new KeptOutputs(this._rendermime, this._pool.api);
      this.addWidget(this._outputs);
    }
    this._kept?.dispose();
    if (this._rendermime.mimeTypes.includes(HTML) && model.data[HTML] !== undefined) {
      const kept = this._rendermime.createRenderer(HTML);
      this.addWidget(kept);
      this._kept = kept;
      await kept.renderModel(model);
    }
    this._askWidget();
    this._choose();
  }

  private _keep(about: About): KeptCard | KeptGroup {
    if (about.group !== undefined) {
      const group = about.group;
      const kept = new KeptGroup(this._pool, group, () => this._open.group(group));
      kept.changed.connect(() => this._choose());
      return kept;
    }
    const task = about.task ?? '';
    const kept = new KeptCard(this._pool, task, () => this._open.task(task));
    kept.changed.connect(() => this._choose());
    return kept;
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._watch.disconnect();
      this._session.statusChanged.disconnect(this._onSession, this);
      super.dispose();
    }
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._choose();
  }

  protected override onBeforeDetach(message: Message): void {
    this._server?.rest();
    super.onBeforeDetach(message);
  }

  /** Let ipywidgets try. A renderer made before its manager was there never hears of it, so a new one is made. */
  private _askWidget(): void {
    if (this._model === null || this._model.data[WIDGET] === undefined || !this._rendermime.mimeTypes.includes(WIDGET)) {
      return;
    }
    this._gone = false;
    this._watch.disconnect();
    this._widget?.dispose();
    const widget = this._rendermime.createRenderer(WIDGET);
    widget.hide();
    this.addWidget(widget);
    this._widget = widget;
    this._watch.observe(widget.node, {
      childList: true,
      subtree: true,
      attributes: true,
      attributeFilter: ['class'],
      characterData: true
    });
    void widget.renderModel(this._model);
  }

  /** Exactly one of the three is seen. */
  private _choose(): void {
    if (this.isDisposed || !this.isAttached) {
      return;
    }
    const node = this._widget?.node;
    const live = !this._gone && node?.querySelector(LIVE) != null && node.querySelector(DEAD) === null;
    const known = !live && this._server?.known === true;
    this._widget?.setHidden(!live);
    this._server?.setHidden(!known);
    this._outputs?.setHidden(!known);
    this._kept?.setHidden(live || known);
    if (known && this._server?.task) {
      void this._outputs?.follow(this._server.task);
    }
    if (live) {
      this._server?.rest();
    } else {
      this._server?.watch();
    }
  }

  /** ipywidgets leaves the widgets of a kernel that was restarted as they were: they would tick on for ever. */
  private _onSession(): void {
    const status = this._session.session?.kernel?.status;
    if (status === 'restarting' || status === 'autorestarting' || status === 'dead') {
      this._gone = true;
      this._choose();
    }
    const waits = this._widget?.node.textContent?.startsWith('Loading') === true;
    if (waits && status === 'idle') {
      this._askWidget();
    }
  }

  private readonly _watch: MutationObserver;
  private _gone = false;
  private _model: IRenderMime.IMimeModel | null = null;
  private _widget: IRenderMime.IRenderer | null = null;
  private _server: KeptCard | KeptGroup | null = null;
  private _outputs: KeptOutputs | null = null;
  private _kept: Widget | null = null;
}
