import * as React from 'react';

import type { PoolApi } from './api';
import type { Group } from './api-types';
import { count } from './format';
import { WRONG, counts, countsText, endedCount, failures, failureText, later, progress, shareText } from './grouptext';
import { useLoaded } from './loadable';
import { Mark } from './marks';

/** Parts as wide as their counts, in the colours of their states; those that are to come fill the rest. */
export function GroupBar(props: { group: Group }): JSX.Element {
  const { group } = props;
  const rest = later(group);
  return (
    <div
      className="jp-diamond-groupbar"
      role="progressbar"
      aria-label="members that have ended"
      aria-valuemin={0}
      aria-valuemax={group.members}
      aria-valuenow={endedCount(group)}
      aria-valuetext={`${progress(group)}: ${countsText(group)}`}
    >
      {counts(group).map(each => (
        <div
          key={each.state}
          className={`jp-diamond-tone-${each.sign.tone}`}
          style={{ flexGrow: each.count }}
          title={`${count(each.count)} ${each.sign.word}`}
        />
      ))}
      {rest > 0 && <div style={{ flexGrow: rest }} title={`${count(rest)} in later rounds`} />}
    </div>
  );
}

/** How many are in which state, each with its mark. */
export function GroupCounts(props: { group: Group }): JSX.Element {
  const { group } = props;
  const rest = later(group);
  return (
    <div className="jp-diamond-groupcounts" data-part="counts">
      {counts(group).map(each => (
        <span key={each.state} data-count={each.state}>
          <Mark sign={each.sign} /> {count(each.count)} {each.sign.word}
        </span>
      ))}
      {rest > 0 && (
        <span>
          {count(rest)} {group.phase === 'ENDED' ? 'never sent' : 'in later rounds'}
        </span>
      )}
    </div>
  );
}

/** `37/100 anvil:shared ~10 min`, a place each. */
export function GroupPlaces(props: { group: Group }): JSX.Element | null {
  const { shares } = props.group;
  if (shares.length === 0) {
    return null;
  }
  return (
    <div className="jp-diamond-groupcounts" data-part="places">
      {shares.map(share => (
        <span key={`${share.site}:${share.partition}`}>{shareText(share)}</span>
      ))}
    </div>
  );
}

/** What went wrong, by cause, with numbers; asked for again when more has. */
export function GroupFailures(props: { api: PoolApi; group: Group }): JSX.Element | null {
  const { api, group } = props;
  const wrong = WRONG.reduce((sum, state) => sum + (group.states[state] ?? 0), 0);
  const load = () => (wrong === 0 ? Promise.resolve([]) : api.members(group.id, WRONG));
  const { value } = useLoaded(load, `${group.id} ${wrong}`);
  const found = failures(value ?? []);
  if (found.length === 0) {
    return null;
  }
  return (
    <ul className="jp-diamond-groupfailures" data-part="failures">
      {found.map(failure => (
        <li key={`${failure.word} ${failure.indices[0]}`} title={failure.cause}>
          <strong>{failureText(failure, group.members)}</strong> {failure.cause}
        </li>
      ))}
    </ul>
  );
}
