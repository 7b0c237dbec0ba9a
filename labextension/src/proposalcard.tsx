/** A plan that waits for the user's word: the same card in the chat and in the sidebar. */

import * as React from 'react';

import type { Proposal } from './api-types';
import { useNow } from './clock';
import { chargeSaid, standingSaid, waitSaid } from './proposaltext';
import type { Proposals } from './proposals';

type Props = {
  readonly proposals: Proposals;
  readonly first: Proposal;
  readonly openTask: (id: string) => void;
};

/** Follows a proposal from what was known of it first. */
function useProposal(proposals: Proposals, first: Proposal): [Proposal, string] {
  const [now, setNow] = React.useState(first);
  const [problem, setProblem] = React.useState('');
  React.useEffect(() => {
    let gone = false;
    const ask = () =>
      void proposals.get(first.id).then(
        found => {
          if (!gone) {
            setNow(found);
            setProblem('');
          }
        },
        (reason: unknown) => !gone && setProblem(reason instanceof Error ? reason.message : String(reason))
      );
    const hear = (_: Proposals, id: string) => (id === '' || id === first.id) && ask();
    proposals.changed.connect(hear);
    ask();
    return () => {
      gone = true;
      proposals.changed.disconnect(hear);
    };
  }, [proposals, first.id]);
  return [now, problem];
}

export function ProposalCard(props: Props): JSX.Element {
  const [proposal, problem] = useProposal(props.proposals, props.first);
  const clock = useNow(proposal.standing === 'waiting');
  const late = Date.parse(proposal.expires_at) <= clock;
  const standing = proposal.standing === 'waiting' && late ? 'expired' : proposal.standing;
  const facts = [waitSaid(proposal), chargeSaid(proposal)].filter(each => each !== '');
  return (
    <div
      className="jp-diamond-proposal"
      role="group"
      aria-label={proposal.title}
      data-proposal={proposal.id}
      data-standing={standing}
      data-task={proposal.task ?? undefined}
    >
      <div className="jp-diamond-proposal-title">{proposal.title}</div>
      {facts.length > 0 && <div className="jp-diamond-proposal-facts">{facts.join(' · ')}</div>}
      {proposal.why !== '' && <p className="jp-diamond-proposal-why">{proposal.why}</p>}
      {proposal.notes.length > 0 && (
        <ul className="jp-diamond-proposal-notes">
          {proposal.notes.map(note => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <Folded title="what would run" lines={proposal.source} />
      <Folded title="batch script as it would be sent" lines={proposal.script} />
      {standing === 'waiting' && proposal.changed.length > 0 && (
        <p className="jp-diamond-proposal-problem" role="alert">
          {`This plan is no longer what would happen. ${proposal.changed.join(' ')} Ask for a new one.`}
        </p>
      )}
      {standing === 'waiting' && <Answer {...props} proposal={proposal} />}
      <div className="jp-diamond-proposal-standing" aria-live="polite">
        <span>{standingSaid(proposal, standing, clock)}</span>
        {proposal.task !== null && (
          <button type="button" className="jp-diamond-button" onClick={() => props.openTask(proposal.task ?? '')}>
            open
          </button>
        )}
      </div>
      {problem !== '' && <p className="jp-diamond-fine">{`As it was in the chat: ${problem}`}</p>}
    </div>
  );
}

function Folded(props: { title: string; lines: string }): JSX.Element | null {
  return props.lines === '' ? null : (
    <details className="jp-diamond-proposal-fold">
      <summary>{props.title}</summary>
      <pre>{props.lines}</pre>
    </details>
  );
}

function Answer(props: Props & { proposal: Proposal }): JSX.Element {
  const { proposal, proposals } = props;
  const [asks, setAsks] = React.useState(false);
  const [busy, setBusy] = React.useState(false);
  const [problem, setProblem] = React.useState('');
  const say = (word: () => Promise<unknown>) => {
    setBusy(true);
    setProblem('');
    word().then(
      () => setBusy(false),
      (reason: unknown) => {
        setBusy(false);
        setProblem(reason instanceof Error ? reason.message : String(reason));
      }
    );
  };
  const stale = proposal.changed.length > 0;
  return (
    <>
      <div className="jp-diamond-proposal-answer">
        <button
          type="button"
          className="jp-diamond-button jp-mod-primary"
          data-action="approve"
          disabled={busy || stale}
          onClick={() => say(() => proposals.approve(proposal.id, proposal.hash))}
        >
          {busy ? 'Sending…' : 'Approve'}
        </button>
        <button
          type="button"
          className="jp-diamond-button"
          data-action="deny"
          disabled={busy}
          onClick={() => say(() => proposals.deny(proposal.id, ''))}
        >
          Not now
        </button>
        <button
          type="button"
          className="jp-diamond-button"
          data-action="change"
          aria-expanded={asks}
          disabled={busy}
          onClick={() => setAsks(!asks)}
        >
          Change…
        </button>
      </div>
      {asks && <Wish busy={busy} send={words => say(() => proposals.deny(proposal.id, words))} />}
      {problem !== '' && (
        <p className="jp-diamond-proposal-problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

function Wish(props: { busy: boolean; send: (words: string) => void }): JSX.Element {
  const [words, setWords] = React.useState('');
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    if (words.trim() !== '') {
      props.send(words.trim());
    }
  };
  return (
    <form className="jp-diamond-proposal-wish" onSubmit={send}>
      <input
        className="jp-mod-styled"
        autoFocus
        aria-label="What should be different"
        placeholder="What should be different? e.g. for 1 h"
        maxLength={500}
        value={words}
        onChange={event => setWords(event.target.value)}
      />
      <button type="submit" className="jp-diamond-button" disabled={props.busy || words.trim() === ''}>
        Ask
      </button>
    </form>
  );
}
