/** The days that the dashboard is about, in UTC, and addresses that keep them. */

const DAY_MS = 86_400_000;
export const RANGES = [7, 30, 90];
const RANGE_DEFAULT = 30;

export interface Days {
  first: string;
  last: string;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** How many days the address asks for. */
export function rangeOf(query: URLSearchParams): number {
  const asked = Number(query.get("days"));
  return RANGES.includes(asked) ? asked : RANGE_DEFAULT;
}

/** The last days up to today. */
export function lastDays(range: number, now: number): Days {
  return { first: dayOf(now - (range - 1) * DAY_MS), last: dayOf(now) };
}

/** Each day from the first to the last. */
export function eachDay({ first, last }: Days): string[] {
  const found: string[] = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += DAY_MS) found.push(dayOf(at));
  return found;
}

/** The query of a report, or of a list that a report counts. */
export function daysQuery(days: Days, more: Record<string, string> = {}): string {
  return new URLSearchParams({ first_day: days.first, last_day: days.last, ...more }).toString();
}

/** The page with the rows that a number counts. */
export function countedLink(list: string, query: string | Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return `#/dashboard/${list}${text === "" ? "" : `?${text}`}`;
}
