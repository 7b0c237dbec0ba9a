import * as React from 'react';

import type { Attempt, Task } from './api-types';
import { useNow } from './clock';
import { bytes, duration, moment, secondsBetween } from './format';
import { Mark } from './marks';
import { sizeText } from './sizetext';
import { where } from './tasktext';
import { stateSign } from './vocabulary';

/** Every attempt with its exact facts, the newest first. */
export function AttemptsTab(props: { task: Task }): JSX.Element {
  const attempts = [...props.task.attempts].reverse();
  if (attempts.length === 0) {
    return <p className="jp-diamond-empty">No attempt yet.</p>;
  }
  return (
    <div className="jp-diamond-attempts">
      {attempts.map(attempt => (
        <AttemptFacts key={attempt.n} attempt={attempt} />
      ))}
    </div>
  );
}

function AttemptFacts(props: { attempt: Attempt }): JSX.Element {
  const { attempt } = props;
  const sign = stateSign(attempt.state);
  return (
    <section data-attempt={attempt.n} aria-label={`Attempt ${attempt.n}`}>
      <h3>
        Attempt {attempt.n}
        <Mark sign={sign} />
        <span>{sign.word}</span>
      </h3>
      {attempt.why !== '' && <p>{attempt.why}</p>}
      {attempt.cause !== '' && <p>{attempt.cause}</p>}
      {attempt.trouble !== '' && <p className="jp-diamond-tone-warning">{attempt.trouble}</p>}
      <dl className="jp-diamond-facts">
        {facts(attempt, useNow(false)).map(([name, value]) => (
          <React.Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </React.Fragment>
        ))}
      </dl>
      {attempt.evidence.length > 0 && <pre className="jp-diamond-evidence">{attempt.evidence.join('\n')}</pre>}
    </section>
  );
}

function facts(attempt: Attempt, now: number): [string, string][] {
  const at = (iso: string | null) => (iso === null ? '' : moment(iso, now, true));
  const native = attempt.native;
  const job = native === null ? '' : native.cluster === null ? native.id : `${native.id} on ${native.cluster}`;
  const took = secondsBetween(attempt.started_at, attempt.ended_at);
  const exit = attempt.exit_code === null ? '' : String(attempt.exit_code);
  const rows: [string, string][] = [
    ['Place', where(attempt) + (attempt.account === null ? '' : `, account ${attempt.account}`)],
    ['Size', sizeText(attempt.size)],
    ['Job', job],
    ['Scheduler says', [attempt.raw_state, attempt.reason].filter(text => text !== '').join(', ')],
    ['Nodes', attempt.nodes],
    ['Created', at(attempt.created_at)],
    ['Submitted', at(attempt.submitted_at)],
    ['Expected start', attempt.started_at === null ? at(attempt.expected_start_at) : ''],
    ['Started', at(attempt.started_at)],
    ['Ended', at(attempt.ended_at)],
    ['Took', took === null ? '' : duration(took)],
    ['Exit code', attempt.signal === null ? exit : `${exit === '' ? '' : `${exit}, `}signal ${attempt.signal}`],
    ['Peak memory', attempt.max_rss_bytes === null ? '' : bytes(attempt.max_rss_bytes)],
    ['Last seen', at(attempt.last_seen_at)],
    ['Folder', attempt.folder ?? ''],
    ['Token', attempt.token]
  ];
  return rows.filter(([, value]) => value !== '');
}
