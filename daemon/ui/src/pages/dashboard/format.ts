/** Shares, days and time spans as the dashboard shows them. */

import { formatDay as formatDate, formatShare as formatPart } from "../../text/formats";
import { inUnits } from "../../text/labels";

export { formatNumber } from "../../text/formats";

/** A share of something; a dash where there is nothing. */
export function formatShare(part: number, whole: number): string {
  return whole === 0 ? "–" : formatPart(part / whole);
}

export function formatDay(day: string): string {
  return formatDate(`${day}T00:00:00Z`);
}

/** “4 h 10 min”; a dash where nothing was decided. */
export function formatSpan(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds < 60)
    return inUnits([seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds), "s"]);
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return inUnits([minutes, "min"]);
  const hours = Math.floor(minutes / 60);
  if (hours < 24)
    return inUnits([hours, "h"], ...(minutes % 60 === 0 ? [] : [rest(minutes % 60, "min")]));
  return inUnits(
    [Math.floor(hours / 24), "d"],
    ...(hours % 24 === 0 ? [] : [rest(hours % 24, "h")]),
  );
}

function rest(count: number, unit: "h" | "min"): [number, "h" | "min"] {
  return [count, unit];
}
