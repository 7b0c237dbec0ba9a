/** What waits for the user's word; what agents may do without it; and the switch that lets them do nothing. */

import * as React from 'react';

import type { StandingBudget } from './api-types';
import type { AgentsModel } from './agents';
import { allowedSaid, scopeSaid, usedSaid } from './budgettext';
import { useNow } from './clock';
import { counted, moment } from './format';
import { Gate } from './login';
import type { PoolModel } from './pool';
import { ProposalCard } from './proposalcard';
import { useSignal } from './signal';
import { NeedCard } from './transfers';

/** Plans that wait, first of all; nothing where none does. */
export function NeedsYou(props: { pool: PoolModel; openTask: (id: string) => void }): JSX.Element | null {
  const { pool, openTask } = props;
  const { agents, transfers } = pool;
  const section = React.useRef<HTMLElement>(null);
  useSignal(agents.changed);
  useSignal(transfers.changed);
  useSignal(pool.login.changed);
  const answered = useAnswered(agents);
  const cards = [...agents.waiting, ...answered.shown];
  const needing = transfers.needing;
  if (cards.length === 0 && needing.length === 0) {
    return null;
  }
  return (
    <section className="jp-diamond-section jp-diamond-needs" aria-label="Needs you" ref={section} tabIndex={-1}>
      <header className="jp-diamond-head">
        <h2>Needs you</h2>
        <span className="jp-diamond-counts">{waitingSaid(agents.waiting.length, needing.length)}</span>
      </header>
      {cards.length > 0 && agents.state?.on === false && (
        <p className="jp-diamond-empty">Agents are off, so nothing can be approved. Switch them on below.</p>
      )}
      <ul>
        {needing.map(each => (
          <li key={each.id}>
            <NeedCard transfer={each} linked={!pool.login.canBegin} />
          </li>
        ))}
        {needing.length > 0 && pool.login.state !== null && pool.login.canBegin && (
          <li>
            <Gate model={pool.login} login={pool.login.state} sites={[]} />
          </li>
        )}
        {cards.map(each => (
          <li key={each.id}>
            <ProposalCard proposals={pool.proposals} first={each} openTask={openTask} />
          </li>
        ))}
      </ul>
      {answered.shown.length > 0 && (
        <button type="button" className="jp-diamond-link jp-diamond-older" data-action="clear" onClick={answered.clear}>
          Clear what was answered
        </button>
      )}
    </section>
  );
}

function waitingSaid(plans: number, transfers: number): string {
  const said = [plans > 0 && counted(plans, 'plan'), transfers > 0 && counted(transfers, 'transfer')];
  return said.filter(Boolean).join(' · ');
}

/** What was answered here stays until it is cleared: nothing vanishes under the hand, or before it is read. */
function useAnswered(agents: AgentsModel): { shown: AgentsModel['waiting']; clear: () => void } {
  const [shown, setShown] = React.useState<AgentsModel['waiting']>([]);
  const known = React.useRef(new Map<string, AgentsModel['waiting'][number]>());
  for (const each of agents.waiting) {
    known.current.set(each.id, each);
  }
  React.useEffect(() => {
    const keep = (_: AgentsModel, ids: readonly string[]) => {
      const gone = ids.map(id => known.current.get(id)).filter(each => each !== undefined);
      setShown(before => [...before.filter(each => !ids.includes(each.id)), ...gone]);
    };
    agents.answered.connect(keep);
    return () => void agents.answered.disconnect(keep);
  }, [agents]);
  return { shown, clear: () => setShown([]) };
}

/** Standing budgets and the switch, quiet at the end. */
export function AgentsView(props: { pool: PoolModel }): JSX.Element | null {
  const { agents } = props.pool;
  useSignal(agents.changed);
  const act = useAct();
  const { state } = agents;
  if (state === null) {
    return null;
  }
  return (
    <section className="jp-diamond-section jp-diamond-agents" aria-label="Agents">
      {agents.budgets.length > 0 && (
        <ul aria-label="Standing budgets">
          {agents.budgets.map(each => (
            <Budget key={each.id} budget={each} busy={act.busy} revoke={() => act.run(() => agents.revoke(each.id))} />
          ))}
        </ul>
      )}
      <button
        type="button"
        role="switch"
        className="jp-diamond-switch"
        data-action="agents"
        aria-checked={state.on}
        disabled={act.busy}
        onClick={() => act.run(() => agents.switch(!state.on))}
      >
        <span className="jp-diamond-switchmark" aria-hidden="true" />
        <span>
          {state.on ? 'Agents may act' : 'Agents are off'}
          <span className="jp-diamond-fine">{stateSaid(agents)}</span>
        </span>
      </button>
      {act.problem !== '' && (
        <p className="jp-diamond-gateproblem" role="alert">
          {act.problem}
        </p>
      )}
    </section>
  );
}

function stateSaid(agents: AgentsModel): string {
  if (agents.state?.on === false) {
    return 'Nothing is done for them, and no model is asked. Jobs that run go on.';
  }
  return agents.budgets.length > 0
    ? 'Within the standing budgets above; else they ask you first.'
    : 'They ask you first, each time.';
}

function Budget(props: { budget: StandingBudget; busy: boolean; revoke: () => void }): JSX.Element {
  const { budget, busy, revoke } = props;
  const now = useNow(false);
  const allowed = allowedSaid(budget);
  return (
    <li className="jp-diamond-budget" data-budget={budget.id}>
      <span>
        {allowed}
        <span className="jp-diamond-fine">
          {`taken: ${usedSaid(budget)} · ${scopeSaid(budget)} · until ${moment(budget.expires_at, now)}`}
        </span>
      </span>
      <button
        type="button"
        className="jp-diamond-link"
        data-action="revoke"
        aria-label={`Revoke the standing budget of ${allowed}`}
        disabled={busy}
        onClick={revoke}
      >
        Revoke
      </button>
    </li>
  );
}

/** One act at a time; what it raises is a sentence. */
function useAct(): { busy: boolean; problem: string; run: (act: () => Promise<void>) => void } {
  const [busy, setBusy] = React.useState(false);
  const [problem, setProblem] = React.useState('');
  const run = (act: () => Promise<void>) => {
    setBusy(true);
    setProblem('');
    act()
      .catch((reason: unknown) => setProblem(reason instanceof Error ? reason.message : String(reason)))
      .finally(() => setBusy(false));
  };
  return { busy, problem, run };
}
