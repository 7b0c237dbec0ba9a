import * as React from 'react';

import type { OutlookPlace, SiteReading } from '../api-types';
import { BusyBar } from '../bar';
import { useNow } from '../clock';
import { UNKNOWN, compact, moment, secondsBetween } from '../format';
import type { LaunchDesk } from '../launch/desk';
import type { PoolModel } from '../pool';
import { Row, USABLE_S, busyText, freeText, meansText, mineText, siteTitle } from '../sitefacts';
import { Health, Problem, SiteAge } from '../sites';
import type { Point } from './spark';
import { Sparkline } from './sparkline';
import type { WallModel } from './wallmodel';
import { placeKey, reservationText, waitText, waitTitle } from './walltext';

const COLUMNS = [
  ['partition', ''],
  ['busy', 'Share of GPUs that is taken; of cores where there are none'],
  ['free', 'What a job could really get now'],
  ['queue', 'Jobs that wait there'],
  ['yours', '● running, ○ pending'],
  ['wait', 'Until 1 GPU for 1 h would start; 1 core where there are no GPUs. In brackets: 8 of 10 waits'],
  ['last day', 'Busy share over the last 24 hours'],
  ['GPU', 'Its kind and memory'],
  ['limit', 'How long one job may run, and how much you may have']
] as const;
/** Rows before "more". */
const SHOWN = 12;

interface CardProps {
  readonly site: SiteReading;
  readonly rows: readonly Row[];
  readonly hidden: number;
  readonly places: ReadonlyMap<string, OutlookPlace>;
  readonly model: WallModel;
  readonly pool: PoolModel;
  readonly desk: LaunchDesk;
  readonly first: boolean;
}

/** One site: how it is reached, how it is, and its partitions. */
export function SiteCard(props: CardProps): JSX.Element {
  const { site, rows, hidden, places, model, pool, desk, first } = props;
  const [all, setAll] = React.useState(false);
  const now = useNow();
  const shown = all || rows.length <= SHOWN + 1 ? rows : rows.slice(0, SHOWN);
  const stale = site.health === 'offline' || (secondsBetween(site.read_at, now) ?? 0) > USABLE_S;
  const reserved = reservationText(site, now);
  return (
    <section
      className={`jp-diamond-card${site.simulated ? ' jp-mod-simulated' : ''}${stale ? ' jp-mod-stale' : ''}`}
      data-site={site.site}
      data-health={site.health}
      aria-label={site.site}
    >
      <header className="jp-diamond-cardhead" title={siteTitle(site)}>
        <h3 className="jp-diamond-name">{site.site}</h3>
        <span className="jp-diamond-badge">{meansText(site)}</span>
        <SiteAge site={site} />
        <Health site={site} />
      </header>
      {site.problem !== '' && <Problem site={site} pool={pool} />}
      {reserved !== '' && (
        <p className="jp-diamond-reserved" data-part="reservation">
          {reserved}
        </p>
      )}
      {rows.length === 0 ? (
        site.problem === '' && (
          <p className="jp-diamond-empty">{site.read_at === null ? 'Not read yet.' : 'It shows no partitions.'}</p>
        )
      ) : (
        <Partitions site={site} rows={shown} places={places} model={model} desk={desk} first={first} />
      )}
      {(rows.length > shown.length || all) && (
        <button type="button" className="jp-diamond-link" data-action="more" onClick={() => setAll(!all)}>
          {all ? 'fewer' : `${rows.length - shown.length} more`}
        </button>
      )}
      {hidden > 0 && <p className="jp-diamond-fine">{hidden} filtered out</p>}
    </section>
  );
}

function Partitions(props: Pick<CardProps, 'site' | 'rows' | 'places' | 'model' | 'desk' | 'first'>): JSX.Element {
  const { site, rows, places, model, desk, first } = props;
  const launch = React.useMemo(() => (site.simulated ? null : (name: string) => desk.here(site.site, name)), [site.site, site.simulated, desk]);
  const [open, setOpen] = React.useState<ReadonlySet<string>>(new Set());
  const toggle = React.useCallback((name: string) => {
    setOpen(before => {
      const next = new Set(before);
      if (!next.delete(name)) {
        next.add(name);
      }
      return next;
    });
  }, []);
  return (
    <table className="jp-diamond-walltable" aria-label={`Partitions of ${site.site}`}>
      <thead>
        <tr>
          {COLUMNS.map(([word, title]) => (
            <th key={word} scope="col" title={title} data-column={word}>
              {word}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <PartitionRow
            key={row.name}
            text={JSON.stringify(row)}
            row={row}
            readAt={site.read_at}
            place={places.get(placeKey(site.site, row.name)) ?? null}
            spark={site.simulated ? NO_PAST : model.spark(site.site, row.name)}
            open={open.has(row.name)}
            toggle={toggle}
            launch={launch}
            stop={first && at === 0}
          />
        ))}
      </tbody>
    </table>
  );
}

const NO_PAST: readonly Point[] = [];

interface RowProps {
  /** The row as text: equal texts draw alike. */
  readonly text: string;
  readonly row: Row;
  readonly readAt: string | null;
  readonly place: OutlookPlace | null;
  readonly spark: readonly Point[] | null;
  readonly open: boolean;
  readonly toggle: (name: string) => void;
  /** Null where nothing can be launched. */
  readonly launch: ((name: string) => void) | null;
  readonly stop: boolean;
}

const PartitionRow = React.memo(DrawnRow, (a, b) =>
  (['text', 'readAt', 'place', 'spark', 'open', 'toggle', 'launch', 'stop'] as const).every(name => a[name] === b[name])
);

function DrawnRow(props: RowProps): JSX.Element {
  const { row, readAt, place, spark, open, toggle, launch, stop } = props;
  const read = readAt === null ? 'never read' : `read ${moment(readAt, Date.now(), true)}`;
  const wait = row.open ? waitText(place) : '–';
  return (
    <>
      <tr
        className={`jp-diamond-wallrow${row.open ? '' : ' jp-mod-closed'}`}
        data-partition={row.name}
        data-free={row.open ? (row.free ?? UNKNOWN) : row.state}
        title={[row.name, ...row.facts, waitTitle(place), read].join('\n')}
        onClick={() => toggle(row.name)}
      >
        <th scope="row">
          <button
            type="button"
            className="jp-diamond-rowname"
            aria-expanded={open}
            tabIndex={stop ? 0 : -1}
            onClick={event => {
              event.stopPropagation();
              toggle(row.name);
            }}
          >
            {row.name}
          </button>
        </th>
        <td>
          <BusyBar busy={row.open ? row.busy : null} total={row.total} label={busyText(row)} />
        </td>
        <td className="jp-diamond-free">{freeText(row)}</td>
        <td className="jp-diamond-pend">{compact(row.pending)}</td>
        <td className="jp-diamond-mine">{mineText(row)}</td>
        <td className="jp-diamond-wait" data-wait={wait}>
          {wait}
        </td>
        <td>
          <Sparkline points={spark} />
        </td>
        <td className="jp-diamond-kind">{row.kind}</td>
        <td className="jp-diamond-cap">{row.cap}</td>
      </tr>
      {open && (
        <tr className="jp-diamond-exact">
          <td colSpan={COLUMNS.length}>
            {[...row.facts, waitTitle(place), read].join(' · ')}
            {launch !== null && row.open && (
              <>
                {' '}
                <button
                  type="button"
                  className="jp-diamond-link"
                  data-action="launch-here"
                  title={`Open the launch sheet, pinned to ${row.name}`}
                  onClick={() => launch(row.name)}
                >
                  Launch here
                </button>
              </>
            )}
          </td>
        </tr>
      )}
    </>
  );
}
