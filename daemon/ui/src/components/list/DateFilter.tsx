/** A day as a filter; a list begins or ends with it, in the reader's own time. */

import { useId } from "react";
import type { Query } from "../../state/query";

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export function DateFilter({ query, name, label }: { query: Query; name: string; label: string }) {
  const id = useId();
  return (
    <div className="filter date">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="date"
        value={query.get(name)}
        onChange={(event) => query.set(name, event.target.value)}
      />
    </div>
  );
}

export function startOfDay(day: string): string | null {
  return timeOf(day, 0);
}

/** The beginning of the day after. */
export function endOfDay(day: string): string | null {
  return timeOf(day, 1);
}

function timeOf(day: string, later: number): string | null {
  if (!DAY.test(day)) return null;
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  const at = new Date(year, month - 1, date + later);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}
