/** Entries of the company history: run events and log events, merged, newest first. */

import type { CompanyEvent } from "../../api/types";
import { common } from "../../text/en/common";
import { formatTime } from "../../text/labels";
import type { LogEntry } from "./companyLog";
import { type Part, reachedBy } from "./useHistory";
import { audit as t } from "../../text/en/audit";

/** An entry of the history: a run event or a log event. */
export type AuditEntry = { id: string; at: number } & (
  { run: CompanyEvent; log: null } | { run: null; log: LogEntry }
);

/** How much of what matches is shown. */
export function coverageText(entries: AuditEntry[], whole: boolean): string {
  const count = entries.length;
  const oldest = entries.at(-1);
  if (whole || oldest === undefined) return whole ? t("found", { count }) : common("searching");
  return t("newest", { count, since: formatTime(new Date(oldest.at).toISOString()) });
}

/** Entries of both kinds, newest first, since the time from which both are loaded. */
export function mergeEntries(loaded: {
  runs: Part<CompanyEvent>;
  log: Part<LogEntry>;
}): AuditEntry[] {
  const reached = reachedBy(loaded);
  const since = Math.max(reached.runs, reached.log);
  const found: AuditEntry[] = [
    ...loaded.log.entries.map((entry): AuditEntry => ({
      id: `log-${entry.seq}`,
      at: Date.parse(entry.event.at),
      run: null,
      log: entry,
    })),
    ...loaded.runs.entries.map((event): AuditEntry => ({
      id: event.id,
      at: Date.parse(event.event.at),
      run: event,
      log: null,
    })),
  ];
  return found.filter((entry) => !(entry.at < since)).sort((a, b) => b.at - a.at);
}
