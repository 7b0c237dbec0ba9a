/** Draws a plan in a chat's message. The chat puts only the node into its page, so the widget is never told. */

import { ReactWidget } from '@jupyterlab/ui-components';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import * as React from 'react';

import type { Proposal } from './api-types';
import { Clock, ClockContext } from './clock';
import type { PoolModel } from './pool';
import { ProposalCard } from './proposalcard';

export const PROPOSAL = 'application/vnd.jupyter-diamond.proposal+json';
/** Before Markdown, which the same message carries for whoever has no renderer of ours. */
const RANK = 10;

export function drawProposals(rendermime: IRenderMimeRegistry, pool: PoolModel, openTask: (id: string) => void): void {
  rendermime.addFactory(
    // safe: nothing of the message is run, and what the buttons say yes to is what the server has under that id
    { safe: true, mimeTypes: [PROPOSAL], createRenderer: () => new ProposalRenderer(pool, openTask) },
    RANK
  );
}

class ProposalRenderer extends ReactWidget implements IRenderMime.IRenderer {
  constructor(
    private readonly _pool: PoolModel,
    private readonly _openTask: (id: string) => void
  ) {
    super();
    this.addClass('jp-diamond-proposalmessage');
    this._clock = new Clock(() => _pool.serverSkew);
    this._clock.start();
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._first = model.data[PROPOSAL] as unknown as Proposal;
    this._pool.proposals.changed.connect(this._onChange, this);
    MessageLoop.sendMessage(this, Widget.Msg.UpdateRequest);
    await this.renderPromise;
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._clock.dispose();
      MessageLoop.sendMessage(this, Widget.Msg.BeforeDetach); // lets React go
      this.clearFlag(Widget.Flag.IsAttached); // the chat took the node out of the page by itself
      super.dispose();
    }
  }

  protected override render(): JSX.Element | null {
    return this._first === null ? null : (
      <ClockContext.Provider value={this._clock}>
        <ProposalCard proposals={this._pool.proposals} first={this._first} openTask={this._openTask} />
      </ClockContext.Provider>
    );
  }

  /** Nobody disposes of what a message was drawn with before: it goes when it is found to be out of the page. */
  private _onChange(): void {
    this._shown = this._shown || this.node.isConnected;
    if (this._shown && !this.node.isConnected) {
      this.dispose();
    }
  }

  private readonly _clock: Clock;
  private _first: Proposal | null = null;
  private _shown = false;
}
