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

/** The most digits and decimal places that each browser takes; a number of the page has 17 digits. */
const DIGITS_MAX = 21;
const PLACES_MAX = 20;

/** “1,234.5”, with all its digits. */
export function formatNumber(value: number): string {
  return once(
    "number",
    (at) => new Intl.NumberFormat(at, { maximumSignificantDigits: DIGITS_MAX }),
  ).format(value);
}

interface Signs {
  decimal: string;
  group: string;
}

function signs(): Signs {
  return once("signs", (at) => {
    const parts = new Intl.NumberFormat(at).formatToParts(1_234_567.8);
    const found = (type: string) => parts.find((part) => part.type === type)?.value ?? "";
    return { decimal: found("decimal"), group: found("group") };
  });
}

/** A number of JSON as the reader writes it, with all its digits: “1234,5”. */
export function numberText(json: string): string {
  return json.replace(".", signs().decimal);
}

/** In place of a number that can be read in two ways. */
export const AMBIGUOUS = "?";
const APOSTROPHES = /['\u2019\u02bc\uff07]/g;
const SPACES = /[\u0020\u00a0\u2009\u202f]/g;

/**
 * What the reader wrote as a number, as JSON has it: “1.234,5” is 1234.5 where a comma parts. Browsers
 * and phones write other signs than this one's, so all that can be read in one way alone is taken.
 * AMBIGUOUS for what can be read in two, such as “1.234” in Austria; what is no number stays as it is.
 */
export function numberJson(text: string): string {
  const { decimal, group } = signs();
  const plain = text
    .trim()
    .replace(/^[\u2212\u2013\ufe63\uff0d]/, "-")
    .replace(/^\+/, "");
  const [, sign = "", rest = ""] = /^(-?)(.*)$/s.exec(plain) ?? [];
  const marks = rest.replace(APOSTROPHES, "'").replace(SPACES, " ");
  const parts = decimalOf(marks, decimal, group);
  if (parts === "ambiguous") return AMBIGUOUS;
  const [whole, fraction] = parts;
  const joined = ungrouped(whole);
  if (joined === null || !/^\d*$/.test(fraction) || `${joined}${fraction}` === "") return text;
  return `${sign}${joined === "" ? "0" : joined}${fraction === "" ? "" : `.${fraction}`}`;
}

/** What stands before and behind the decimal sign. */
function decimalOf(marks: string, decimal: string, group: string): [string, string] | "ambiguous" {
  const [point, comma] = [marks.lastIndexOf("."), marks.lastIndexOf(",")];
  const at = Math.max(point, comma);
  if (at < 0) return [marks, ""];
  // Where both stand, the later one parts: no language writes groups behind it.
  if (point >= 0 && comma >= 0) return parted(marks, at);
  const sign = marks[at] ?? "";
  if (marks.indexOf(sign) !== at) return [marks, ""];
  const [whole, rest] = parted(marks, at);
  const groups = /^[1-9]\d{0,2}$/.test(whole) && /^\d{3}$/.test(rest);
  if (sign === decimal || !groups) return [whole, rest];
  return sign === group ? [marks, ""] : "ambiguous";
}

function parted(marks: string, at: number): [string, string] {
  return [marks.slice(0, at), marks.slice(at + 1)];
}

/** The digits of a whole number in groups of three by one sign; null for other groups. */
function ungrouped(whole: string): string | null {
  if (/^\d*$/.test(whole)) return whole;
  const sign = /[^\d]/.exec(whole)?.[0] ?? "";
  const groups = whole.split(sign);
  const fits =
    ["'", " ", ".", ","].includes(sign) &&
    /^\d{1,3}$/.test(groups[0] ?? "") &&
    groups.slice(1).every((one) => /^\d{3}$/.test(one));
  return fits ? groups.join("") : null;
}

/** A share of 1 as “86.4%”. */
export function formatShare(value: number): string {
  return once(
    "share",
    (at) => new Intl.NumberFormat(at, { style: "percent", maximumFractionDigits: 1 }),
  ).format(value);
}

/** An amount with all its digits: “1,250.50”; with the code of a currency “€1,250.50”. */
export function formatMoney(amount: number | string, currency: string | null = null): string {
  const text = String(amount);
  const least = /^-?\d+(\.0*)?$/.test(text) ? 0 : 2;
  const [, fraction = ""] = text.split(".");
  if (fraction.length > PLACES_MAX) return `${currency ?? ""} ${numberText(text)}`.trim();
  const places = { minimumFractionDigits: least, maximumFractionDigits: PLACES_MAX };
  return once(
    `money ${least} ${currency}`,
    (at) =>
      new Intl.NumberFormat(
        at,
        currency === null ? places : { ...places, style: "currency", currency },
      ),
  ).format(text as `${number}`);
}

/** A moment in the reader's own time, with its zone: “Mar 1, 2026, 12:00:00 GMT+1”. */
export function formatTime(iso: string): string {
  return once(
    "time",
    (at) =>
      new Intl.DateTimeFormat(at, { dateStyle: "medium", timeStyle: "long", hourCycle: "h23" }),
  ).format(new Date(iso));
}

/** “Mar 1, 2026, 12:00:00 GMT+1”; null in a zone that the browser does not know. */
export function formatTimeIn(iso: string, timeZone: string): string | null {
  const options = { dateStyle: "medium", timeStyle: "long", hourCycle: "h23", timeZone } as const;
  try {
    return once(`time in ${timeZone}`, (at) => new Intl.DateTimeFormat(at, options)).format(
      new Date(iso),
    );
  } catch {
    return null;
  }
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
