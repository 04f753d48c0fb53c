/** The company's own log, newest first: log-ins, and changes of connectors and webhooks. Managers and owners read it. */

import { send } from "../../api/client";
import { equal } from "../../api/json";
import { humanize } from "../../text/labels";

type Properties = Record<string, unknown>;

export interface LogEvent {
  type: string;
  at: string;
  by: string;
  before?: Properties | null;
  after?: Properties | null;
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
  /** Where the page before these is; null when all are here. */
  next: string | null;
}

// As the page of a connector calls them.
const PROPERTY_LABELS = new Map([
  ["base_url", "Address"],
  ["reversible", "Mode"],
  ["timeout_s", "Time-out in seconds"],
  ["url", "Address"],
]);
const FIRST_PAGE = "/audit/log?limit=200";

/** The log with the page that came before what is known of it. */
export async function loadEarlierLog(log: CompanyLog | null): Promise<CompanyLog> {
  const page = await send<LogEntry[]>("GET", log?.next ?? FIRST_PAGE);
  return { entries: [...(log?.entries ?? []), ...page.value], next: page.next };
}

/** The log with what was added since; anew where so much was added that there would be a gap. */
export async function loadLaterLog(log: CompanyLog): Promise<CompanyLog> {
  const page = await send<LogEntry[]>("GET", FIRST_PAGE);
  const known = log.entries[0]?.seq ?? 0;
  const added = page.value.filter((one) => one.seq > known);
  const closed = (added.at(-1)?.seq ?? known + 1) === known + 1;
  return closed ? { entries: [...added, ...log.entries], next: log.next } : { entries: page.value, next: page.next };
}

/** What somebody did, behind their name. */
export function describeLogEvent(event: LogEvent): string {
  switch (event.type) {
    case "registered":
      return "registered the company";
    case "logged_in":
      return "signed in";
    case "logged_out":
      return "signed out";
    case "login_refused":
      return "was refused at signing in: the password was wrong";
    case "connector_changed":
      return `${changeVerb(event)} the connector of “${event.tool_id ?? ""}”`;
    case "webhook_changed":
      return `${changeVerb(event)} a webhook`;
    default:
      return humanize(event.type);
  }
}

/** What was changed, member by member. */
export function describeChanges(event: LogEvent): string[] {
  const { before, after } = event;
  if (before === undefined || after === undefined) return [];
  const names = Object.keys({ ...before, ...after }).filter((name) => name !== "version" && name !== "tool_id");
  const found = names
    .filter((name) => !equal(before?.[name] ?? null, after?.[name] ?? null))
    .map((name) => (before === null ? `${propertyLabel(name)}: ${propertyText(name, after?.[name])}` : after === null ? `${propertyLabel(name)} was ${propertyText(name, before[name])}` : `${propertyLabel(name)}: ${propertyText(name, before[name])} → ${propertyText(name, after[name])}`));
  return event.secret === undefined || event.secret === "none" || event.secret === "kept" ? found : [...found, `Secret: ${event.secret}`];
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
  return typeof value === "string" ? value : typeof value === "boolean" ? (value ? "yes" : "no") : JSON.stringify(value);
}
