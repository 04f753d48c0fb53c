/** A chart over days. */

import { type ReactNode, useMemo } from "react";
import { formatShortDay } from "../../text/formats";
import { Plot, type Scale, type Series } from "./Plot";

const DAY = 86_400;
const HALF_DAY = DAY / 2;
const DAYS: Scale = {
  time: true,
  range: (first, last) => [first - HALF_DAY, last + HALF_DAY],
  // Lines may stand closer than days.
  format: (at) => (at % DAY === 0 ? formatShortDay(new Date(at * 1_000)) : ""),
};

interface ChartProps {
  title: string;
  days: string[];
  series: Series[];
  format: (value: number) => string;
  /** The distances that the lines of the scale may have. */
  steps: number[];
  children: ReactNode;
}

export function Chart({ title, days, series, format, steps, children }: ChartProps) {
  const xs = useMemo(() => days.map((day) => Date.parse(day) / 1_000), [days]);
  const y = useMemo<Scale>(
    () => ({ range: (_, most) => [0, Math.max(most * 1.1, 1)], format, steps }),
    [format, steps],
  );
  return (
    <Plot title={title} xs={xs} series={series} x={DAYS} y={y}>
      {children}
    </Plot>
  );
}
