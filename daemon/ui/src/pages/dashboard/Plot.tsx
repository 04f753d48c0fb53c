/** A drawn chart. Its numbers stand in a table, too, for whoever cannot see it. */

import { type ReactNode, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { dashboard as t } from "../../text/en/dashboard";

const HEIGHT = 200;
const DARK = matchMedia("(prefers-color-scheme: dark)");

export interface Series {
  name: string;
  /** The name of a colour of the page. */
  colour: string;
  values: (number | null)[];
  /** How values are drawn: joined by lines where it is not said. */
  shape?: "bars" | "steps" | "dashes";
}

export interface Scale {
  time?: boolean;
  range: (first: number, last: number) => [number, number];
  format: (value: number) => string;
  /** The distances that the lines of the scale may have. */
  steps?: number[];
}

interface PlotProps {
  title: string;
  heading?: "h2" | "h4";
  xs: number[];
  series: Series[];
  x: Scale;
  y: Scale;
  children: ReactNode;
}

export function Plot({ title, heading: Title = "h2", xs, series, x, y, children }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const plot = new uPlot(
      optionsOf(element, series, x, y),
      [xs, ...series.map((one) => one.values)],
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
  }, [xs, series, x, y, theme]);
  return (
    <figure className={Title === "h2" ? "chart card" : "chart"}>
      <figcaption>
        <Title>{title}</Title>
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

function optionsOf(element: HTMLElement, series: Series[], x: Scale, y: Scale): uPlot.Options {
  const colour = (name: string) => getComputedStyle(element).getPropertyValue(`--${name}`).trim();
  const [muted, line] = [resolved(element, colour("muted")), resolved(element, colour("line"))];
  const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const spaced = (scale: Scale) => (scale.steps === undefined ? {} : { incrs: scale.steps });
  return {
    width: element.clientWidth,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: x.time ?? false, range: (_, first, last) => x.range(first, last) },
      y: { range: (_, first, last) => y.range(first, last) },
    },
    axes: [
      {
        ...axis,
        ...spaced(x),
        size: 32,
        grid: { show: false },
        values: (_, splits) => splits.map(x.format),
      },
      { ...axis, ...spaced(y), size: 56, values: (_, splits) => splits.map(y.format) },
    ],
    series: [{}, ...series.map((one) => drawn(one, resolved(element, colour(one.colour))))],
  };
}

function drawn({ name, shape }: Series, stroke: string): uPlot.Series {
  const bars = uPlot.paths.bars?.({ size: [0.7, 24] });
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  return {
    label: name,
    stroke,
    width: 2,
    points: { show: shape === undefined, size: 5, fill: stroke },
    spanGaps: true,
    ...(shape === "bars" && bars !== undefined ? { fill: stroke, paths: bars, width: 0 } : {}),
    ...(shape === "steps" && stepped !== undefined ? { paths: stepped } : {}),
    ...(shape === "dashes" ? { dash: [4, 4], width: 1 } : {}),
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
