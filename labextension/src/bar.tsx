import * as React from 'react';

/** A thin bar; null draws the unknown pattern, never an empty bar. */
export function ThinBar(props: { share: number | null; label: string; late?: boolean }): JSX.Element {
  const { share, label, late = false } = props;
  const known = share !== null;
  const value = known ? { 'aria-valuenow': Math.round(100 * Math.min(1, share)) } : {};
  return (
    <div
      className={`jp-diamond-thinbar${known ? '' : ' jp-mod-unknown'}${late ? ' jp-mod-late' : ''}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      {...value}
    >
      {known && <div style={{ width: `${(100 * Math.min(1, share)).toFixed(2)}%` }} />}
    </div>
  );
}

const SEGMENTS = 8;

/** How many of eight segments are lit: none only when nothing is busy, all only when nothing is free. */
export function litSegments(busy: number, total: number): number {
  if (busy <= 0 || total <= 0) {
    return 0;
  }
  return busy >= total ? SEGMENTS : Math.min(SEGMENTS - 1, Math.max(1, Math.round((SEGMENTS * busy) / total)));
}

/** Busy share in eight segments; null when it is not known. */
export function BusyBar(props: { busy: number | null; total: number | null; label: string }): JSX.Element {
  const { busy, total, label } = props;
  if (busy === null || total === null) {
    return <span className="jp-diamond-busybar jp-mod-unknown" role="img" aria-label={label} data-lit="?" />;
  }
  const lit = litSegments(busy, total);
  return (
    <span
      className="jp-diamond-busybar"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={busy}
      data-lit={lit}
    >
      {Array.from({ length: SEGMENTS }, (_, at) => (
        <i key={at} className={at < lit ? 'jp-mod-lit' : ''} />
      ))}
    </span>
  );
}
