/**
 * The company log, newest first: sign-ins, and changes of connectors and webhooks. Managers and
 * owners may read it.
 */

import { send } from "../../api/client";
import { equal } from "../../api/json";
import { humanize } from "../../text/labels";

type Properties = Record<string, unknown>;

export interface LogEvent {
  type: string;
  at: string;
  by: string;
  by_kind?: string;
  before?: Properties | null;
  after?: Properties | null;
  reason?: string;
  secret?: string;
  tool_id?: string;
}

export interface LogEntry {
  seq: number;
  event: LogEvent;
}

export interface CompanyLog {
  /** Newest first. */
  entries: LogEntry[];
  /** The address of the next page; null after the last. */
  next: string | null;
}

// As the connector page labels them.
const PROPERTY_LABELS = new Map([
  ["base_url", "Base URL"],
  ["reversible", "Mode"],
  ["timeout_s", "Timeout (seconds)"],
  ["url", "URL"],
]);
const FIRST_PAGE = "/audit/log?limit=200";

/** Load the next older page. */
export async function loadEarlierLog(log: CompanyLog | null): Promise<CompanyLog> {
  const page = await send<LogEntry[]>("GET", log?.next ?? FIRST_PAGE);
  return { entries: [...(log?.entries ?? []), ...page.value], next: page.next };
}

/** Load newer entries, or start over if there would be a gap. */
export async function loadLaterLog(log: CompanyLog): Promise<CompanyLog> {
  const page = await send<LogEntry[]>("GET", FIRST_PAGE);
  const known = log.entries[0]?.seq ?? 0;
  const added = page.value.filter((entry) => entry.seq > known);
  const closed = (added.at(-1)?.seq ?? known + 1) === known + 1;
  return closed
    ? { entries: [...added, ...log.entries], next: log.next }
    : { entries: page.value, next: page.next };
}

/** A log event as a predicate. */
export function describeLogEvent(event: LogEvent): string {
  switch (event.type) {
    case "registered":
      return "registered the company";
    case "logged_in":
      return "signed in";
    case "logged_out":
      return "signed out";
    case "session_ended":
      return event.reason === "reused"
        ? "lost a session: its renewal was used twice, perhaps by somebody else"
        : "ended a session";
    case "sessions_ended":
      return "ended all other sessions";
    case "password_changed":
      return "changed the password";
    case "login_refused":
      return "failed to sign in: wrong password";
    case "connector_changed":
      return `${changeVerb(event)} the connector of “${event.tool_id ?? ""}”`;
    case "webhook_changed":
      return `${changeVerb(event)} a webhook`;
    default:
      return humanize(event.type);
  }
}

/** The changed properties of a log event. */
export function describeChanges(event: LogEvent): string[] {
  const { before, after } = event;
  if (before === undefined || after === undefined) return [];
  const names = Object.keys({ ...before, ...after }).filter(
    (name) => name !== "version" && name !== "tool_id",
  );
  const found = names
    .filter((name) => !equal(before?.[name] ?? null, after?.[name] ?? null))
    .map((name) =>
      before === null
        ? `${propertyLabel(name)}: ${propertyText(name, after?.[name])}`
        : after === null
          ? `${propertyLabel(name)} was ${propertyText(name, before[name])}`
          : `${propertyLabel(name)}: ${propertyText(name, before[name])} → ${propertyText(name, after[name])}`,
    );
  return event.secret === undefined || event.secret === "none" || event.secret === "kept"
    ? found
    : [...found, `Secret: ${event.secret}`];
}

function changeVerb(event: LogEvent): string {
  return event.after === null ? "removed" : event.before === null ? "added" : "changed";
}

function propertyLabel(name: string): string {
  return PROPERTY_LABELS.get(name) ?? humanize(name);
}

function propertyText(name: string, value: unknown): string {
  if (name === "reversible") return value === true ? "live" : "shadowed";
  if (value === undefined || value === null || value === "") return "none";
  return typeof value === "string"
    ? value
    : typeof value === "boolean"
      ? value
        ? "yes"
        : "no"
      : JSON.stringify(value);
}
