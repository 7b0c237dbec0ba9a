import * as React from 'react';

import type { PoolApi } from './api';
import type { Candidate, Decision, Task } from './api-types';
import { useNow } from './clock';
import { about, charge, startsOf, terms } from './estimatetext';
import { choice, goal, isWish, objection, ordered, place, refusals, runnerUp, saidOf, tied } from './explain';
import { UNKNOWN, age, count, counted, moment } from './format';
import { useLoaded } from './loadable';
import { Mark } from './marks';
import { sizeText } from './sizetext';
import { Twist } from './sites';
import { answerSign } from './vocabulary';

/** The stored decision, explained: the choice, the runner-up, refusals by reason, then the table. */
export function WhyTab(props: { api: PoolApi; task: Task }): JSX.Element {
  const { api, task } = props;
  const { value, problem } = useLoaded(() => api.decision(task.id), `${task.id} ${task.attempts.length}`);
  if (value === null) {
    return <p className="jp-diamond-empty">{problem === '' ? 'Reading the decision…' : problem}</p>;
  }
  return <Explained decision={value} />;
}

function Explained(props: { decision: Decision }): JSX.Element {
  const { decision } = props;
  const second = runnerUp(decision);
  const made = `${moment(decision.made_at, useNow(false), true)}, from snapshot ${decision.snapshot_id}`;
  return (
    <div className="jp-diamond-why">
      <p className="jp-diamond-lead">{decision.sentence}</p>
      {second !== '' && <p data-part="runner-up">{second}</p>}
      <Choice decision={decision} />
      {tied(decision) !== '' && <p data-part="ties">{tied(decision)}</p>}
      {decision.warnings.map((warning, at) => (
        <p key={at} className="jp-diamond-tone-warning">
          {warning}
        </p>
      ))}
      <Refused decision={decision} />
      <Table decision={decision} />
      <p className="jp-diamond-fine">
        Decided {made}
        {decision.mode === 'pinned' ? ', at the place that was asked for' : ', by the rules'}, {goal(decision)}. This is the stored
        decision, not a new one.
      </p>
    </div>
  );
}

/** The terms of the choice's estimate and what it costs. */
function Choice(props: { decision: Decision }): JSX.Element | null {
  const chosen = choice(props.decision);
  if (chosen === null || chosen.estimate === null) {
    return null;
  }
  const cost = charge(chosen.estimate);
  return (
    <p data-part="terms">
      Time: {terms(chosen.estimate)}.{cost !== UNKNOWN && ` Charge: ${cost}.`}
    </p>
  );
}

function Refused(props: { decision: Decision }): JSX.Element | null {
  const groups = refusals(props.decision);
  if (groups.length === 0) {
    return null;
  }
  return (
    <ul className="jp-diamond-refusals" data-part="refusals">
      {groups.map(group => (
        <li key={group.rule}>
          <span className="jp-diamond-rule">
            {group.rule.replace(/_/g, ' ')} ({group.where.length})
          </span>
          <span>
            {group.where.join(', ')}: {group.sentence}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Table(props: { decision: Decision }): JSX.Element {
  const chosen = choice(props.decision);
  return (
    <table className="jp-diamond-table" data-part="candidates">
      <thead>
        <tr>
          <th scope="col">Candidate</th>
          <th scope="col">Size per node</th>
          <th scope="col">Starts</th>
          <th scope="col" className="jp-mod-number">
            In all
          </th>
          <th scope="col">Charge</th>
          <th scope="col" className="jp-mod-number">
            Jobs ahead
          </th>
          <th scope="col" className="jp-mod-number">
            Facts’ age
          </th>
          <th scope="col">Verdict</th>
        </tr>
      </thead>
      <tbody>
        {ordered(props.decision).map(candidate => (
          <Row key={place(candidate)} candidate={candidate} chosen={candidate === chosen} />
        ))}
      </tbody>
    </table>
  );
}

function Row(props: { candidate: Candidate; chosen: boolean }): JSX.Element {
  const { candidate, chosen } = props;
  const [open, setOpen] = React.useState(false);
  const against = objection(candidate);
  const estimate = candidate.estimate;
  const total = (estimate?.run_s ?? null) === null ? null : (estimate?.total_s ?? null); // the wait alone is not all
  const old = candidate.record_age_s === null ? UNKNOWN : age(candidate.record_age_s);
  return (
    <>
      <tr className={chosen ? 'jp-mod-chosen' : ''} data-candidate={place(candidate)} data-chosen={chosen}>
        <td>
          <button type="button" className="jp-diamond-fold" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Twist />
            {place(candidate)}
            {candidate.simulated && ' (simulated)'}
          </button>
        </td>
        <td>{candidate.size === null ? 'not sized' : sizeText(candidate.size)}</td>
        <td>{startsOf(candidate)}</td>
        <td className="jp-mod-number">{total === null ? UNKNOWN : about(total)}</td>
        <td>{charge(candidate.estimate)}</td>
        <td className="jp-mod-number">{count(candidate.queue_ahead)}</td>
        <td className="jp-mod-number">{old}</td>
        <td>
          {against === null ? (
            <Said answer="pass" text={chosen ? 'chosen' : `feasible${candidate.rank === null ? '' : `, rank ${candidate.rank}`}`} />
          ) : (
            <Said answer={against.answer} text={saidOf(against)} />
          )}
        </td>
      </tr>
      {open && (
        <tr className="jp-diamond-verdicts">
          <td colSpan={8}>
            <Weighed candidate={candidate} />
            <Verdicts candidate={candidate} />
          </td>
        </tr>
      )}
    </>
  );
}

/** The terms of the size that is taken here, and of the others that were weighed. */
function Weighed(props: { candidate: Candidate }): JSX.Element | null {
  const { size, estimate, sizes } = props.candidate;
  if (size === null || estimate === null) {
    return null;
  }
  const all = [[size, estimate] as const, ...sizes];
  return (
    <ul aria-label={counted(all.length, 'size')} data-part="sizes">
      {all.map(([each, its], at) => (
        <li key={at} className="jp-mod-size">
          <span>{sizeText(each)}</span>
          <span>{terms(its)}</span>
          <span>{its.charge === null ? '' : charge(its)}</span>
        </li>
      ))}
    </ul>
  );
}

function Verdicts(props: { candidate: Candidate }): JSX.Element {
  const { verdicts } = props.candidate;
  if (verdicts.length === 0) {
    return <span>No rule was asked.</span>;
  }
  return (
    <ul aria-label={counted(verdicts.length, 'verdict')}>
      <li className="jp-diamond-fine" aria-hidden="true">
        <span>Rule</span>
        <span>Observed</span>
        <span>Required</span>
        <span />
      </li>
      {verdicts.map(verdict => (
        <li key={verdict.rule} data-rule={verdict.rule} data-answer={verdict.answer}>
          <Said answer={verdict.answer} text={verdict.rule.replace(/_/g, ' ') + (isWish(verdict) ? ' (wish)' : '')} />
          <span>{verdict.observed}</span>
          <span>{verdict.required}</span>
          <span>{saidOf(verdict)}</span>
        </li>
      ))}
    </ul>
  );
}

function Said(props: { answer: 'pass' | 'fail' | 'unknown'; text: string }): JSX.Element {
  return (
    <span className="jp-diamond-said">
      <Mark sign={answerSign(props.answer)} alone />
      <span>{props.text}</span>
    </span>
  );
}
