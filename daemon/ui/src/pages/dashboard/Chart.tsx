/** A chart over days. Its numbers stand in a table, too, for whoever cannot see it. */

import { type ReactNode, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatShortDay } from "../../text/formats";
import { dashboard as t } from "../../text/en/dashboard";

const HEIGHT = 200;
const DAY = 86_400;
const HALF_DAY = DAY / 2;
const DARK = matchMedia("(prefers-color-scheme: dark)");

export interface Series {
  name: string;
  /** The name of a colour of the page. */
  colour: string;
  values: (number | null)[];
  bars?: boolean;
}

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
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const times = days.map((day) => Date.parse(day) / 1_000);
    const plot = new uPlot(
      optionsOf(element, series, format, steps),
      [times, ...series.map((one) => one.values)],
      element,
    );
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [days, series, format, steps, theme]);
  return (
    <figure className="chart card">
      <figcaption>
        <h2>{title}</h2>
      </figcaption>
      <div className="chart-legend" aria-hidden="true">
        {series.map((one) => (
          <span key={one.name} className={`legend-${one.colour}`}>
            {one.name}
          </span>
        ))}
      </div>
      <div ref={box} className="chart-box" aria-hidden="true" />
      <details>
        <summary>
          {t("asTable")}
          <span className="visually-hidden">: {title}</span>
        </summary>
        {children}
      </details>
    </figure>
  );
}

function optionsOf(
  element: HTMLElement,
  series: Series[],
  format: (value: number) => string,
  steps: number[],
): uPlot.Options {
  const colour = (name: string) => getComputedStyle(element).getPropertyValue(`--${name}`).trim();
  const [muted, line] = [resolved(element, colour("muted")), resolved(element, colour("line"))];
  const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const bars = uPlot.paths.bars?.({ size: [0.7, 24] });
  return {
    width: element.clientWidth,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: (_, first, last) => [first - HALF_DAY, last + HALF_DAY] },
      y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] },
    },
    axes: [
      {
        ...axis,
        size: 32,
        grid: { show: false },
        // Lines may stand closer than days.
        values: (_, splits) =>
          splits.map((at) => (at % DAY === 0 ? formatShortDay(new Date(at * 1_000)) : "")),
      },
      { ...axis, size: 56, incrs: steps, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map((one) => {
        const stroke = resolved(element, colour(one.colour));
        return {
          label: one.name,
          stroke,
          width: 2,
          points: { show: !one.bars, size: 5, fill: stroke },
          spanGaps: true,
          ...(one.bars && bars !== undefined ? { fill: stroke, paths: bars, width: 0 } : {}),
        };
      }),
    ],
  };
}

/** A colour as the canvas takes it: of the theme that is shown. */
function resolved(element: HTMLElement, colour: string): string {
  const probe = document.createElement("span");
  probe.style.color = colour;
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Changes whenever the theme that is shown does. */
function useTheme(): string {
  const read = () => `${document.documentElement.dataset["theme"] ?? ""} ${DARK.matches}`;
  const [theme, setTheme] = useState(read);
  useEffect(() => {
    const changed = () => setTheme(read());
    const observer = new MutationObserver(changed);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    DARK.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      DARK.removeEventListener("change", changed);
    };
  }, []);
  return theme;
}
