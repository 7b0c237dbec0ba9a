import * as React from 'react';

import type { SiteReading } from './api-types';
import { BusyBar } from './bar';
import { useNow } from './clock';
import { UNKNOWN, age, compact, moment, secondsBetween } from './format';
import { Mark } from './marks';
import type { PoolModel } from './pool';
import type { Row, Sum } from './sitefacts';
import {
  USABLE_S,
  busyText,
  freeText,
  inOrder,
  meansText,
  mineText,
  outageText,
  rowsOf,
  siteTitle,
  sumText,
  sums
} from './sitefacts';
import { healthSign } from './vocabulary';

/** Seconds after which facts are too old to be called live: two probe ticks. */
const OLD_S = 120;
/** Partitions of a site before "more". */
const SHOWN = 10;
const COLUMNS = [
  ['partition', ''],
  ['busy', 'Share of GPUs that is taken; of cores where there are none'],
  ['free', 'What a job could really get now'],
  ['pending', 'Jobs that wait there'],
  ['yours', '● running, ○ pending'],
  ['limit', 'How long one job may run']
] as const;

/** Which sites show their partitions; survives a reload. */
export interface Folds {
  open(site: string): boolean;
  toggle(site: string): void;
}

export function SitesView(props: { pool: PoolModel; folds: Folds }): JSX.Element {
  const { pool, folds } = props;
  const sites = pool.snapshot?.sites;
  if (sites === undefined) {
    return <p className="jp-diamond-empty">Reading the sites…</p>;
  }
  if (sites.length === 0) {
    return <p className="jp-diamond-empty">No sites yet. Add one to your site catalogue, sites.yaml.</p>;
  }
  return (
    <>
      <Sums pool={pool} />
      <ul className="jp-diamond-sites" aria-label="Sites">
        <li className="jp-diamond-columns" aria-hidden="true">
          {COLUMNS.map(([word, title]) => (
            <span key={word} title={title}>
              {word}
            </span>
          ))}
        </li>
        {inOrder(sites).map(site => (
          <SiteItem key={site.site} site={site} pool={pool} folds={folds} />
        ))}
      </ul>
    </>
  );
}

/** The four sums over all sites, and of which sites a part is not known. */
function Sums(props: { pool: PoolModel }): JSX.Element | null {
  const now = useNow();
  if (props.pool.snapshot === null) {
    return null;
  }
  const { sums: totals, simulated } = sums(props.pool.snapshot, now);
  const lacking = [...new Set(totals.flatMap(total => total.without))];
  return (
    <div className="jp-diamond-sums" role="group" aria-label="All sites">
      {totals.map(total => (
        <span key={total.label} data-sum={total.label} title={lackText(total)}>
          <b>{sumText(total)}</b> {total.label}
          {simulated && ', simulated'}
        </span>
      ))}
      {lacking.length > 0 && (
        <span className="jp-diamond-lacking">
          Not all is known of {lacking.slice(0, 4).join(', ')}
          {lacking.length > 4 && ' …'}
        </span>
      )}
    </div>
  );
}

function lackText({ value, without }: Sum): string {
  return without.length === 0 ? '' : `${value === null ? 'Not' : 'At least: not'} known of ${without.join(', ')}`;
}

function SiteItem(props: { site: SiteReading; pool: PoolModel; folds: Folds }): JSX.Element {
  const { site, pool, folds } = props;
  const open = folds.open(site.site);
  return (
    <li
      className={`jp-diamond-site${site.simulated ? ' jp-mod-simulated' : ''}`}
      data-site={site.site}
      data-health={site.health}
    >
      <button
        type="button"
        className="jp-diamond-siterow"
        aria-expanded={open}
        title={siteTitle(site)}
        onClick={() => folds.toggle(site.site)}
      >
        <Twist />
        <span className="jp-diamond-name">{site.site}</span>
        <span className="jp-diamond-means">{meansText(site)}</span>
        <SiteAge site={site} />
        <Health site={site} />
      </button>
      {site.problem !== '' && <Problem site={site} pool={pool} />}
      {open && <Partitions site={site} />}
    </li>
  );
}

/** A mark that carries its word; the word itself stands there too when all is not well. */
export function Health(props: { site: SiteReading }): JSX.Element {
  const sign = healthSign(props.site.health);
  const said = props.site.health !== 'online';
  return (
    <span className="jp-diamond-health">
      <Mark sign={sign} alone={!said} />
      {said && <span className="jp-diamond-word">{sign.word}</span>}
    </span>
  );
}

export function Problem(props: { site: SiteReading; pool: PoolModel }): JSX.Element {
  const { site, pool } = props;
  const now = useNow(site.next_try_at !== null);
  const wants = site.health === 'needs_login' && pool.login.canBegin;
  return (
    <p className="jp-diamond-problem">
      {site.problem}
      <span className="jp-diamond-fine">{outageText(site, now)}</span>{' '}
      {wants ? (
        <button
          type="button"
          className="jp-diamond-link"
          data-action="login-site"
          onClick={() => pool.login.asked.emit()}
        >
          Log in
        </button>
      ) : (
        <button
          type="button"
          className="jp-diamond-link"
          data-action="refresh-site"
          disabled={pool.refreshing}
          onClick={() => void pool.refresh(site.site)}
        >
          Ask again
        </button>
      )}
    </p>
  );
}

function Partitions(props: { site: SiteReading }): JSX.Element | null {
  const { site } = props;
  const [all, setAll] = React.useState(false);
  const now = useNow();
  const rows = rowsOf(site);
  if (rows.length === 0) {
    const said = site.read_at === null ? 'Not read yet.' : 'It shows no partitions.';
    return site.problem === '' ? <p className="jp-diamond-empty">{said}</p> : null;
  }
  const shown = all || rows.length <= SHOWN + 1 ? rows : rows.slice(0, SHOWN);
  const stale = site.health === 'offline' || (secondsBetween(site.read_at, now) ?? 0) > USABLE_S;
  const read = site.read_at === null ? 'never read' : `read ${moment(site.read_at, now, true)}`;
  return (
    <div
      className={`jp-diamond-partitions${stale ? ' jp-mod-stale' : ''}`}
      role="table"
      aria-label={`Partitions of ${site.site}`}
    >
      <div role="row" className="jp-diamond-spoken">
        {COLUMNS.map(([word]) => (
          <span key={word} role="columnheader">
            {word}
          </span>
        ))}
      </div>
      {shown.map(row => (
        <PartitionRow key={row.name} row={row} read={read} />
      ))}
      {rows.length > SHOWN + 1 && (
        <button type="button" className="jp-diamond-link" data-action="more" onClick={() => setAll(!all)}>
          {all ? 'fewer' : `${rows.length - shown.length} more`}
        </button>
      )}
    </div>
  );
}

function PartitionRow(props: { row: Row; read: string }): JSX.Element {
  const { row, read } = props;
  const [open, setOpen] = React.useState(false);
  const mine = mineText(row);
  return (
    <div
      className={`jp-diamond-partition${row.open ? '' : ' jp-mod-closed'}`}
      role="row"
      data-partition={row.name}
      data-free={row.open ? (row.free ?? UNKNOWN) : row.state}
      data-pending={row.pending ?? UNKNOWN}
      title={[row.name, ...row.facts, read].join('\n')}
    >
      <span role="rowheader" className="jp-diamond-namecell">
        <button type="button" className="jp-diamond-name" aria-expanded={open} onClick={() => setOpen(!open)}>
          {row.name}
        </button>
      </span>
      <span role="cell">
        <BusyBar busy={row.open ? row.busy : null} total={row.total} label={busyText(row)} />
      </span>
      <span role="cell" className="jp-diamond-free">
        {freeText(row)}
      </span>
      <span role="cell" className="jp-diamond-pend">
        {compact(row.pending)}
      </span>
      <span role="cell" className="jp-diamond-mine">
        {mine !== '' && <Narrow word="yours" />}
        {mine}
      </span>
      <span role="cell" className="jp-diamond-cap">
        <Narrow word="limit" />
        {row.cap}
      </span>
      {open && (
        <span role="cell" className="jp-diamond-rowfacts">
          {[...row.facts, read].join(' · ')}
        </span>
      )}
    </div>
  );
}

/** Stands in for a column's head where there is no room for the column. */
function Narrow(props: { word: string }): JSX.Element {
  return (
    <span className="jp-diamond-narrowword" aria-hidden="true">
      {props.word}{' '}
    </span>
  );
}

export function SiteAge(props: { site: SiteReading }): JSX.Element {
  const { read_at: readAt } = props.site;
  const now = useNow(readAt !== null);
  const seconds = secondsBetween(readAt, now);
  const old = seconds === null || seconds > OLD_S;
  return (
    <span
      className={`jp-diamond-age${old ? ' jp-mod-old' : ''}`}
      title={seconds === null ? 'never read' : `read ${moment(readAt, now, true)}`}
    >
      {seconds === null ? 'never read' : `${age(seconds)}${old ? ' old' : ''}`}
    </span>
  );
}

export function Twist(): JSX.Element {
  return (
    <svg className="jp-diamond-twist" viewBox="0 0 12 12" aria-hidden="true">
      <path d="M4 2.2 8.4 6 4 9.8z" fill="currentColor" />
    </svg>
  );
}
