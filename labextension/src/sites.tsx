import * as React from 'react';

import type { Record as Partition, SiteReading } from './api-types';
import { BusyBar } from './bar';
import { useNow } from './clock';
import { UNKNOWN, age, compact, moment, secondsBetween } from './format';
import { Mark } from './marks';
import type { PoolModel } from './pool';
import { busyText, exactFigures, freeText, gate } from './sitefacts';
import { healthSign } from './vocabulary';

/** Seconds after which facts are too old to be called live: two probe ticks. */
const OLD_S = 120;

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
    <ul className="jp-diamond-sites" aria-label="Sites">
      {sites.map(site => (
        <SiteItem key={site.site} site={site} pool={pool} folds={folds} />
      ))}
    </ul>
  );
}

function SiteItem(props: { site: SiteReading; pool: PoolModel; folds: Folds }): JSX.Element {
  const { site, pool, folds } = props;
  const open = folds.open(site.site);
  const shown = site.records.filter(record => !record.hidden);
  const health = healthSign(site.health);
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
        title={siteFacts(site)}
        onClick={() => folds.toggle(site.site)}
      >
        <Twist />
        <span className="jp-diamond-name">{site.site}</span>
        <span className="jp-diamond-means">
          {site.simulated && 'simulated · '}
          {site.transport} · {site.scheduler}
        </span>
        <SiteAge readAt={site.read_at} />
        <Mark sign={health} alone />
      </button>
      {site.problem !== '' && <Problem site={site} pool={pool} />}
      {open && <Partitions records={shown} site={site} />}
    </li>
  );
}

function Problem(props: { site: SiteReading; pool: PoolModel }): JSX.Element {
  const { site, pool } = props;
  return (
    <p className="jp-diamond-problem">
      {site.problem}{' '}
      <button
        type="button"
        className="jp-diamond-link"
        data-action="refresh-site"
        disabled={pool.refreshing}
        onClick={() => void pool.refresh(site.site)}
      >
        Ask again
      </button>
    </p>
  );
}

function Partitions(props: { records: readonly Partition[]; site: SiteReading }): JSX.Element | null {
  const { records, site } = props;
  if (records.length === 0 && site.problem !== '') {
    return null;
  }
  if (records.length === 0) {
    return <p className="jp-diamond-empty">{site.read_at === null ? 'Not read yet.' : 'It shows no partitions.'}</p>;
  }
  return (
    <ul className="jp-diamond-partitions" aria-label={`Partitions of ${site.site}`}>
      {records.map(record => (
        <PartitionRow key={record.partition} record={record} />
      ))}
    </ul>
  );
}

function PartitionRow(props: { record: Partition }): JSX.Element {
  const { record } = props;
  const now = useNow(false);
  const gating = gate(record);
  const usable = record.state === 'up' || record.state === 'unknown';
  return (
    <li
      className={`jp-diamond-partition${usable ? '' : ' jp-mod-closed'}`}
      data-partition={record.partition}
      data-free={gating.free ?? UNKNOWN}
      data-pending={record.pending ?? UNKNOWN}
      title={exactFigures(record, moment(record.read_at, now, true))}
    >
      <span className="jp-diamond-name">{record.partition}</span>
      <BusyBar busy={usable ? gating.busy : null} total={gating.total} label={busyText(gating)} />
      <span className="jp-diamond-free">{usable ? freeText(gating) : record.state}</span>
      <span className="jp-diamond-pend">{compact(record.pending)} pend</span>
    </li>
  );
}

function SiteAge(props: { readAt: string | null }): JSX.Element {
  const now = useNow(props.readAt !== null);
  const seconds = secondsBetween(props.readAt, now);
  const old = seconds === null || seconds > OLD_S;
  return (
    <span
      className={`jp-diamond-age${old ? ' jp-mod-old' : ''}`}
      title={seconds === null ? 'never read' : `read ${moment(props.readAt, now, true)}`}
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

function siteFacts(site: SiteReading): string {
  const lines = [`${site.site}: ${healthSign(site.health).word}`];
  if (site.cluster !== null) {
    lines.push(`cluster ${site.cluster}${site.user === null ? '' : ` as ${site.user}`}`);
  }
  if (site.scheduler_version !== null) {
    lines.push(`${site.scheduler} ${site.scheduler_version}`);
  }
  if (site.accounting !== null) {
    lines.push(site.accounting ? 'accounting answers' : 'no accounting');
  }
  if (site.probe_s !== null) {
    lines.push(`last probe took ${site.probe_s.toFixed(1)} s`);
  }
  if (site.unreadable.length > 0) {
    lines.push(`${site.unreadable.length} lines could not be read`);
  }
  return [...lines, ...site.notes].join('\n');
}
