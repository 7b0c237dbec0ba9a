import * as React from 'react';

import type { Candidate, Decision } from '../api-types';
import { useNow } from '../clock';
import { charge, startsOf } from '../estimatetext';
import { choice, place, refusals } from '../explain';
import { UNKNOWN, age, counted, secondsBetween } from '../format';
import { sizeText } from '../sizetext';
import type { LaunchModel } from './launchmodel';
import { best, reason } from './launchtext';

/** Where it would go now, always in sight while one types. */
export function WhereBox(props: { model: LaunchModel }): JSX.Element {
  const { model } = props;
  const { decision } = model;
  const stale = Object.keys(model.read?.problems ?? {}).length > 0 && model.read?.envelope === null;
  return (
    <aside
      className={`jp-diamond-where${model.busy || stale || model.problem !== '' ? ' jp-mod-stale' : ''}`}
      aria-label="Where it would go now"
      aria-busy={model.busy}
    >
      <h3>Where it would go now</h3>
      {model.problem !== '' && (
        <p className="jp-diamond-problem" role="alert">
          {model.problem}
          {decision !== null && ' It is asked again by itself; below it is as it was before.'}
        </p>
      )}
      {stale && <p className="jp-diamond-fine">A field is not right yet; this is as it was before.</p>}
      {decision === null ? (
        model.problem === '' && <p className="jp-diamond-fine">{stale ? 'Nothing is planned yet.' : 'Asking…'}</p>
      ) : (
        <Planned decision={decision} model={model} />
      )}
    </aside>
  );
}

function Planned(props: { decision: Decision; model: LaunchModel }): JSX.Element {
  const { decision, model } = props;
  const now = useNow();
  const shown = best(decision);
  const others = decision.candidates.length - shown.length;
  const refused = refusals(decision);
  const old = secondsBetween(decision.made_at, now);
  return (
    <>
      <p className="jp-diamond-lead" role="status" data-part="sentence">
        {decision.sentence}
      </p>
      {decision.warnings.map((warning, at) => (
        <p key={at} className="jp-diamond-tone-warning">
          {warning}
        </p>
      ))}
      {decision.candidates.length === 0 && (
        <p className="jp-diamond-fine">
          There is no partition to look at. Add a site with <code>jupyter diamond setup</code>, or ask every site anew on
          the wall.
        </p>
      )}
      <ol className="jp-diamond-places">
        {shown.map(candidate => (
          <Place key={place(candidate)} candidate={candidate} decision={decision} model={model} />
        ))}
      </ol>
      {refused.length > 0 && (
        <details className="jp-diamond-more" data-part="refused">
          <summary>
            {counted(refused.reduce((sum, group) => sum + group.where.length, 0), 'place')} cannot take it
            {others > 0 && `, ${decision.candidates.length} were looked at`}
          </summary>
          <ul>
            {refused.map(group => (
              <li key={group.rule}>
                <b>{group.rule.replace(/_/g, ' ')}</b> ({group.where.length}): {group.where.slice(0, 6).join(', ')}
                {group.where.length > 6 && ' …'}: {group.sentence}
              </li>
            ))}
          </ul>
        </details>
      )}
      <p className="jp-diamond-fine">Planned {old === null ? UNKNOWN : age(old)} ago; nothing is reserved.</p>
    </>
  );
}

function Place(props: { candidate: Candidate; decision: Decision; model: LaunchModel }): JSX.Element {
  const { candidate, decision, model } = props;
  const chosen = candidate === choice(decision);
  const where = `${candidate.site}:${candidate.partition}`;
  const pinned = model.sheet.values['site'] === where;
  return (
    <li
      className={`${chosen ? 'jp-mod-chosen' : ''}${candidate.simulated ? ' jp-mod-simulated' : ''}`}
      data-candidate={place(candidate)}
      data-chosen={chosen}
    >
      <div className="jp-diamond-placehead">
        <b>{place(candidate)}</b>
        {candidate.simulated && <span>simulated</span>}
        {chosen && <span className="jp-diamond-chosen">{decision.mode === 'pinned' ? 'pinned' : 'chosen'}</span>}
      </div>
      {candidate.feasible ? (
        <div className="jp-diamond-placefacts">
          <span>starts {startsOf(candidate)}</span>
          <span>{charge(candidate.estimate) === UNKNOWN ? 'charge not known' : charge(candidate.estimate)}</span>
          {candidate.size !== null && <span>{sizeText(candidate.size)}</span>}
        </div>
      ) : (
        <div className="jp-diamond-placefacts">cannot take it</div>
      )}
      <p className="jp-diamond-fine" data-part="reason">
        {reason(candidate, decision)}
      </p>
      {!candidate.simulated && (candidate.feasible || pinned) && (
        <button
          type="button"
          className="jp-diamond-link"
          data-action={pinned ? 'unpin' : 'pin'}
          onClick={() => model.setValue('site', pinned ? '' : where)}
        >
          {pinned ? 'Go anywhere' : 'Pin to it'}
        </button>
      )}
    </li>
  );
}
