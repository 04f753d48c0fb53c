/** Entries of the company history: run events and log events, merged and filtered. */

import type { CompanyEvent, RunEvent } from "../../api/types";
import { isPersonEvent } from "../../components/record/EventEntry";
import { formatTime } from "../../text/labels";
import type { CompanyLog, LogEntry, LogEvent } from "./companyLog";
import type { LoadedEvents } from "./eventHistory";
import { describeChanges, describeLogEvent, type Names } from "./logSentences";

/** An entry of the history: a run event or a log event. */
export type AuditEntry = { id: string; at: number } & (
  { run: CompanyEvent; log: null } | { run: null; log: LogEntry }
);

interface EntryFilter {
  name: string;
  run: (event: RunEvent) => boolean;
  log: (event: LogEvent) => boolean;
}

const never = () => false;

const SESSION_EVENTS = new Set([
  "registered",
  "logged_in",
  "logged_out",
  "login_refused",
  "session_ended",
  "sessions_ended",
]);
const MEMBER_EVENTS = new Set([
  "member_changed",
  "group_changed",
  "name_changed",
  "delegation_made",
  "delegation_ended",
]);
const ACCESS_EVENTS = new Set([
  "api_key_created",
  "api_key_deleted",
  "calendar_changed",
  "password_changed",
  "password_reset_requested",
  "policy_changed",
  "second_factor_changed",
  "subject_linked",
]);

export const FILTERS: Record<string, EntryFilter> = {
  people: {
    name: "People's actions",
    run: (event) => Boolean(event.by) && event.by !== "autopilot" && isPersonEvent(event),
    log: (event) => event.by !== "",
  },
  verdicts: { name: "Decisions", run: (event) => event.type === "verdict_given", log: never },
  proposals: { name: "Proposals", run: (event) => event.type === "proposal_made", log: never },
  members: {
    name: "Members, roles and groups",
    run: never,
    log: (event) => MEMBER_EVENTS.has(event.type),
  },
  access: {
    name: "Keys, policy and passwords",
    run: never,
    log: (event) => ACCESS_EVENTS.has(event.type),
  },
  connectors: {
    name: "Connector changes",
    run: never,
    log: (event) => event.type === "connector_changed",
  },
  templates: {
    name: "Processes published and retired",
    run: (event) => event.type === "run_migrated",
    log: (event) => event.type.startsWith("template_"),
  },
  sessions: { name: "Sign-ins", run: never, log: (event) => SESSION_EVENTS.has(event.type) },
  starts: { name: "Runs started", run: (event) => event.type === "run_started", log: never },
  ends: { name: "Runs ended", run: (event) => event.type === "run_ended", log: never },
  all: { name: "Everything", run: () => true, log: () => true },
};

/** Run events and log entries, as far back as each is loaded. */
export interface LoadedHistory {
  runs: LoadedEvents;
  log: CompanyLog;
}

/** How much of the history is loaded and shown. */
export function coverageText(shown: number, known: AuditEntry[], whole: boolean): string {
  const count = (many: number) =>
    `${many.toLocaleString("en")} ${many === 1 ? "entry" : "entries"}`;
  const oldest = known.at(-1);
  if (whole || oldest === undefined)
    return `Complete history: ${shown.toLocaleString("en")} of ${count(known.length)} match the filter.`;
  const since = formatTime(new Date(oldest.at).toISOString());
  return `Partial history: the newest ${count(known.length)}, since ${since}; ${shown.toLocaleString("en")} match the filter. Earlier entries are neither shown nor searched.`;
}

/** Merge events without duplicates. */
export function mergeEvents(part: LoadedEvents, other: LoadedEvents | undefined): LoadedEvents {
  const known = new Set(part.events.map((event) => event.id));
  return {
    ...part,
    events: [...part.events, ...(other?.events ?? []).filter((event) => !known.has(event.id))],
  };
}

/** The time of the oldest loaded entry of each kind; -Infinity if all are loaded. */
export function oldestLoaded({ runs, log }: LoadedHistory): { runs: number; log: number } {
  return {
    runs:
      runs.from === null ? Number.NEGATIVE_INFINITY : Date.parse(runs.events[0]?.event.at ?? ""),
    log:
      log.next === null ? Number.NEGATIVE_INFINITY : Date.parse(log.entries.at(-1)?.event.at ?? ""),
  };
}

/** Entries of both kinds, newest first, since the time from which both are loaded. */
export function mergeEntries(loaded: LoadedHistory): AuditEntry[] {
  const reached = oldestLoaded(loaded);
  const since = Math.max(reached.runs, reached.log);
  const found: AuditEntry[] = [
    ...loaded.log.entries.map((entry): AuditEntry => ({
      id: `log-${entry.seq}`,
      at: Date.parse(entry.event.at),
      run: null,
      log: entry,
    })),
    ...loaded.runs.events.toReversed().map((event): AuditEntry => ({
      id: event.id,
      at: Date.parse(event.event.at),
      run: event,
      log: null,
    })),
  ];
  return found.filter((entry) => !(entry.at < since)).sort((a, b) => b.at - a.at);
}

export function matchesFilter(entry: AuditEntry, kind: string): boolean {
  const filter = FILTERS[kind];
  return (
    filter !== undefined &&
    (entry.run === null ? filter.log(entry.log.event) : filter.run(entry.run.event))
  );
}

/** The text that a search matches. */
export function searchText(entry: AuditEntry, names: Names): string {
  const by = (entry.run === null ? entry.log : entry.run).event.by ?? "";
  const who = `${by} ${names.byEmail(by)}`;
  if (entry.run === null) {
    const { event } = entry.log;
    return `${who} ${describeLogEvent(event, names)} ${describeChanges(event, names).join(" ")}`;
  }
  const { event, run_id } = entry.run;
  return `${who} ${event.comment ?? ""} ${event.step_id ?? ""} ${event.vertical ?? ""} ${run_id}`;
}
