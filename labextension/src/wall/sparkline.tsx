import { area, curveStepAfter, line } from 'd3-shape';
import * as React from 'react';

import { Point, sparkText } from './spark';

const WIDTH = 60;
const HEIGHT = 14;
const y = (point: Point) => 1 + (HEIGHT - 2) * (1 - (point.share ?? 0));
const x = (point: Point) => WIDTH * point.at;
const known = (point: Point) => point.share !== null;
const stroke = line<Point>().defined(known).x(x).y(y).curve(curveStepAfter);
const fill = area<Point>().defined(known).x(x).y0(HEIGHT).y1(y).curve(curveStepAfter);

/** A day of busy shares. What was not known is a gap, never a zero. */
export const Sparkline = React.memo(function Sparkline(props: { points: readonly Point[] | null }): JSX.Element {
  const { points } = props;
  if (points === null || !points.some(known)) {
    const said = points === null ? 'the last day is being read' : sparkText(points);
    return <span className="jp-diamond-spark jp-mod-unknown" role="img" aria-label={said} title={said} />;
  }
  const said = sparkText(points);
  return (
    <svg className="jp-diamond-spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={said} data-spark="">
      <title>{said}</title>
      <path className="jp-diamond-sparkfill" d={fill(points) ?? ''} />
      <path className="jp-diamond-sparkline" d={stroke(points) ?? ''} vectorEffect="non-scaling-stroke" />
    </svg>
  );
});
