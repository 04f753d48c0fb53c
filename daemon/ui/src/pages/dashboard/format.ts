/** Numbers, shares and time spans as the dashboard shows them. */

const NUMBER = new Intl.NumberFormat("en");
const SHARE = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });

export function formatNumber(value: number): string {
  return NUMBER.format(value);
}

/** A share of something; a dash where there is nothing. */
export function formatShare(part: number, whole: number): string {
  return whole === 0 ? "–" : SHARE.format(part / whole);
}

export function formatDay(day: string): string {
  return DAY.format(new Date(`${day}T00:00:00Z`));
}

/** “4 h 10 min”; a dash where nothing was decided. */
export function formatSpan(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds < 60)
    return `${seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return hours % 24 === 0
    ? `${Math.floor(hours / 24)} d`
    : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
