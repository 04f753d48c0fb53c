/** Numbers, dates and times as the reader writes them. */

import { locale } from "./locale";

// Making a formatter takes long; each is made once per locale.
const made = new Map<string, unknown>();

function once<T>(name: string, make: (locale: string) => T): T {
  const key = `${name} ${locale()}`;
  const found = (made.get(key) as T | undefined) ?? make(locale());
  made.set(key, found);
  return found;
}

/** “1,234.5”. */
export function formatNumber(value: number): string {
  return once("number", (at) => new Intl.NumberFormat(at)).format(value);
}

/** A share of 1 as “86.4%”. */
export function formatShare(value: number): string {
  return once(
    "share",
    (at) => new Intl.NumberFormat(at, { style: "percent", maximumFractionDigits: 1 }),
  ).format(value);
}

/** An amount, to the cent; with its currency where that is known. */
export function formatMoney(value: number, currency?: string): string {
  const known = currency !== undefined && /^[A-Z]{3}$/.test(currency);
  return once(
    `money ${known ? currency : ""}`,
    (at) =>
      new Intl.NumberFormat(
        at,
        known ? { style: "currency", currency } : { maximumFractionDigits: 2 },
      ),
  ).format(value);
}

/** A moment, in the reader's own time: “Mar 1, 2026, 12:00:00”. */
export function formatTime(iso: string): string {
  return once(
    "time",
    (at) =>
      new Intl.DateTimeFormat(at, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" }),
  ).format(new Date(iso));
}

/** A calendar day without a time: “Mar 1, 2026”. */
export function formatDay(iso: string): string {
  return once(
    "day",
    (at) => new Intl.DateTimeFormat(at, { dateStyle: "medium", timeZone: "UTC" }),
  ).format(new Date(iso));
}

/** A calendar day of this year: “Mar 1”. */
export function formatShortDay(day: Date): string {
  return once(
    "short day",
    (at) => new Intl.DateTimeFormat(at, { month: "short", day: "numeric", timeZone: "UTC" }),
  ).format(day);
}

export type SpanUnit = "day" | "hour" | "minute" | "second";

/** “2 minutes ago”, “in 3 hours”, “yesterday”. */
export function formatRelative(count: number, unit: SpanUnit): string {
  return once("relative", (at) => new Intl.RelativeTimeFormat(at, { numeric: "auto" })).format(
    count,
    unit,
  );
}

/** “3 min”, or “3 minutes” in full. */
export function formatUnit(
  count: number,
  unit: SpanUnit | "millisecond" | "week" | "month" | "year",
  display: "short" | "long" = "short",
): string {
  return once(
    `${unit} ${display}`,
    (at) => new Intl.NumberFormat(at, { style: "unit", unit, unitDisplay: display }),
  ).format(count);
}

/** “A, B and C”, or “A, B or C”. */
export function formatList(
  names: string[],
  type: "conjunction" | "disjunction" = "conjunction",
): string {
  // American English would put a comma before the last.
  const list = (at: string) => new Intl.ListFormat(at.startsWith("en") ? "en-GB" : at, { type });
  return once(`list ${type}`, list).format(names);
}
