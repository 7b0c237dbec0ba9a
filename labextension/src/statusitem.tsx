import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { counted } from './format';
import { PoolModel, countsLine } from './pool';
import { useSignal } from './signal';

/** `Diamond: 2 running · 1 pending` in the status bar; opens the sidebar. */
export class StatusItem extends ReactWidget {
  constructor(
    private readonly _pool: PoolModel,
    private readonly _open: () => void
  ) {
    super();
    this.addClass('jp-diamond-statusitem');
  }

  protected override render(): JSX.Element {
    return <Item pool={this._pool} open={this._open} />;
  }
}

function Item(props: { pool: PoolModel; open: () => void }): JSX.Element {
  useSignal(props.pool.changed);
  useSignal(props.pool.agents.changed);
  return (
    <button type="button" data-link={props.pool.link.kind} title="Open the Diamond sidebar" onClick={props.open}>
      Diamond: {text(props.pool)}
    </button>
  );
}

function text(pool: PoolModel): string {
  switch (pool.link.kind) {
    case 'connecting':
      return 'connecting';
    case 'missing':
      return pool.link.status === 403 ? 'refused by the server' : 'server half missing';
    case 'offline':
      return 'out of touch with the server';
    case 'ready': {
      const waiting = pool.agents.waiting.length;
      const needs = waiting === 0 ? '' : `${counted(waiting, 'plan')} to approve`;
      const line = [needs, countsLine(pool.counts)].filter(part => part !== '').join(' · ');
      return line === '' ? 'no active tasks' : line;
    }
  }
}
