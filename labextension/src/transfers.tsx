/** What moves now: a row each with its bar; and the cards of those that wait for the user. */

import * as React from 'react';

import type { Transfer } from './api-types';
import { ThinBar } from './bar';
import { counted } from './format';
import { Mark } from './marks';
import type { PoolModel } from './pool';
import { useSignal } from './signal';
import type { TransfersModel } from './transfersmodel';
import { neededPage, route, shareDone, transferFar, transferSaid, whatMoves } from './transfertext';
import { transferSign } from './vocabulary';
import type { State } from './words';

/** Only while something moves. */
export function TransfersView(props: { pool: PoolModel }): JSX.Element | null {
  const { transfers } = props.pool;
  useSignal(transfers.changed);
  if (transfers.active.length === 0) {
    return null;
  }
  return (
    <section className="jp-diamond-section jp-diamond-transfers" aria-label="Transfers">
      <header className="jp-diamond-head">
        <h2>Transfers</h2>
        <span className="jp-diamond-counts">{`${counted(transfers.active.length, 'transfer')}`}</span>
      </header>
      <ul>
        {transfers.active.map(each => (
          <TransferRow key={each.id} transfer={each} transfers={transfers} />
        ))}
      </ul>
    </section>
  );
}

function TransferRow(props: { transfer: Transfer; transfers: TransfersModel }): JSX.Element {
  const { transfer, transfers } = props;
  const [problem, setProblem] = React.useState('');
  const what = whatMoves(transfer.request);
  const cancel = () => {
    setProblem('');
    transfers
      .cancel(transfer.id)
      .catch((reason: unknown) => setProblem(reason instanceof Error ? reason.message : String(reason)));
  };
  return (
    <li
      className="jp-diamond-transfer"
      data-transfer={transfer.id}
      data-state={transfer.state}
      title={`${route(transfer.request)}\n${transfer.why}`}
    >
      <Mark sign={transferSign(transfer.state)} />
      <span className="jp-diamond-line">
        <span className="jp-diamond-name">{what}</span>
        <button
          type="button"
          className="jp-diamond-link"
          data-action="cancel-transfer"
          aria-label={`Cancel the transfer of ${what}`}
          disabled={transfer.cancel_requested_by !== null}
          onClick={cancel}
        >
          {transfer.cancel_requested_by === null ? 'Cancel' : 'Cancelling…'}
        </button>
      </span>
      <span className="jp-diamond-second jp-diamond-fine">{route(transfer.request)}</span>
      <Far transfer={transfer} />
      {problem !== '' && (
        <span className="jp-diamond-gateproblem" role="alert">
          {problem}
        </span>
      )}
    </li>
  );
}

/** The bar, how far, and what is wrong: in a transfer's row and in its task's. */
export function Far(props: { transfer: Transfer; named?: boolean }): JSX.Element {
  const { transfer, named = false } = props;
  const share = shareDone(transfer.progress);
  const what = whatMoves(transfer.request);
  const said = transferSaid(transfer);
  const far = transferFar(transfer);
  return (
    <span className="jp-diamond-far" data-far={transfer.id}>
      <ThinBar share={share} label={`how much of ${what} is there`} late={transfer.state === 'stalled'} />
      <span className="jp-diamond-fine">{named ? `${what} · ${far}` : far}</span>
      {said !== '' && <span className="jp-diamond-cause jp-mod-trouble">{said}</span>}
    </span>
  );
}

/** A bar for each movement that a task waits for; nothing where it waits for none. */
export function Staging(props: { pool: PoolModel; task: { id: string; state: State } }): JSX.Element | null {
  const { pool, task } = props;
  useSignal(pool.transfers.changed);
  if (task.state !== 'staging_in' && task.state !== 'staging_out') {
    return null;
  }
  return (
    <>
      {pool.transfers.of(task.id).map(each => (
        <Far key={each.id} transfer={each} named={true} />
      ))}
    </>
  );
}

/** One that waits for the user; `linked`, with one button that opens its page: no login can be begun beside it. */
export function NeedCard(props: { transfer: Transfer; linked: boolean }): JSX.Element {
  const { transfer, linked } = props;
  const what = whatMoves(transfer.request);
  const page = neededPage(transfer);
  return (
    <div className="jp-diamond-proposal" role="group" aria-label={`Moving ${what} needs you`} data-needs={transfer.id}>
      <div className="jp-diamond-proposal-title">{`Moving ${what} needs you`}</div>
      <div className="jp-diamond-proposal-facts">{route(transfer.request)}</div>
      <p className="jp-diamond-proposal-why">{transferSaid(transfer)}</p>
      {linked && page !== '' && (
        <a
          className="jp-diamond-button jp-mod-primary jp-diamond-open"
          data-action="open-need"
          href={page}
          target="_blank"
          rel="noopener noreferrer"
        >
          Open its page
        </a>
      )}
    </div>
  );
}
