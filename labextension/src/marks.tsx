import * as React from 'react';

import type { Shape, Sign } from './vocabulary';

const STROKE = { fill: 'none', stroke: 'currentColor', strokeWidth: 1.6, strokeLinecap: 'round' as const };

const SHAPES: { readonly [shape in Shape]: JSX.Element } = {
  arrow: <path d="M2 6h7M6.2 2.8 9.6 6 6.2 9.2" {...STROKE} strokeLinejoin="round" />,
  dotted: <circle cx="6" cy="6" r="4.2" {...STROKE} strokeDasharray="0.01 2.64" />,
  hollow: <circle cx="6" cy="6" r="4.2" {...STROKE} />,
  filled: <circle cx="6" cy="6" r="4.6" fill="currentColor" />,
  paused: <path d="M4.2 2.5v7M7.8 2.5v7" {...STROKE} strokeWidth={2} />,
  tick: <path d="M2 6.4 4.8 9.2 10 3" {...STROKE} strokeWidth={1.9} strokeLinejoin="round" />,
  cross: <path d="M2.8 2.8l6.4 6.4M9.2 2.8 2.8 9.2" {...STROKE} strokeWidth={1.9} />,
  dash: <path d="M2.2 6h7.6" {...STROKE} strokeWidth={1.9} />,
  question: (
    <>
      <path d="M3.6 4.1a2.5 2.5 0 1 1 3.7 2.1C6.4 6.7 6 7.1 6 7.9" {...STROKE} />
      <circle cx="6" cy="10.4" r="0.95" fill="currentColor" />
    </>
  ),
  half: (
    <>
      <circle cx="6" cy="6" r="4.2" {...STROKE} />
      <path d="M6 1.8a4.2 4.2 0 0 1 0 8.4z" fill="currentColor" />
    </>
  )
};

/** A state's shape in its tone. It stands beside its word, or carries the word itself when `alone`. */
export function Mark(props: { sign: Sign; alone?: boolean; fresh?: boolean }): JSX.Element {
  const { sign, alone = false, fresh = false } = props;
  const said = alone ? { role: 'img', 'aria-label': sign.word } : { 'aria-hidden': true };
  return (
    <svg
      className={`jp-diamond-mark jp-diamond-tone-${sign.tone}${fresh ? ' jp-mod-fresh' : ''}`}
      data-shape={sign.shape}
      viewBox="0 0 12 12"
      {...said}
    >
      {alone && <title>{sign.word}</title>}
      {SHAPES[sign.shape]}
    </svg>
  );
}
