import * as React from 'react';

import type { Charges } from '../api-types';
import { useNow } from '../clock';
import type { PoolModel } from '../pool';
import { sumText, sums } from '../sitefacts';
import { spentLines } from './walltext';

/** The few numbers that say at a glance how things stand. */
export function Strip(props: { pool: PoolModel; charges: Charges | null }): JSX.Element | null {
  const { pool, charges } = props;
  const now = useNow();
  if (pool.snapshot === null || pool.snapshot.sites.length === 0) {
    return null;
  }
  const { sums: totals, simulated } = sums(pool.snapshot, now);
  const lacking = [...new Set(totals.flatMap(total => total.without))];
  const spent = charges === null ? [] : spentLines(charges);
  return (
    <div className="jp-diamond-strip" role="group" aria-label="All sites">
      {totals.map(total => (
        <Stat
          key={total.label}
          name={total.label}
          value={sumText(total)}
          label={`${total.label}${simulated ? ', simulated' : ''}`}
          title={
            total.without.length === 0
              ? 'of every site'
              : `${total.value === null ? 'Not' : 'At least: not'} known of ${total.without.join(', ')}`
          }
        />
      ))}
      {spent.map(line => (
        <Stat key={line.label} name="spent" value={line.value} label={line.label} title={line.title} />
      ))}
      {charges !== null && spent.length === 0 && (
        <Stat name="spent" value="0" label="spent today" title="No attempt of the last 24 hours is charged." />
      )}
      {lacking.length > 0 && (
        <span className="jp-diamond-lacking">
          Not all is known of {lacking.slice(0, 4).join(', ')}
          {lacking.length > 4 && ' …'}
        </span>
      )}
    </div>
  );
}

function Stat(props: { name: string; value: string; label: string; title: string }): JSX.Element {
  return (
    <span className="jp-diamond-stat" data-sum={props.name} title={props.title}>
      <b>{props.value}</b> <span>{props.label}</span>
    </span>
  );
}
