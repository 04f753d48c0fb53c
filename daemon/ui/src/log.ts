/** The company's own log, newest first: log-ins, and changes of connectors and webhooks. Managers and owners read it. */

import { send } from "./api";
import { same } from "./json";
import type { Json } from "./types";
import { named } from "./words";

type Members = Record<string, Json>;

export interface LogEvent {
  type: string;
  at: string;
  by: string;
  before?: Members | null;
  after?: Members | null;
  secret?: string;
  tool_id?: string;
}

export interface Logged {
  seq: number;
  event: LogEvent;
}

export interface Log {
  /** Newest first. */
  entries: Logged[];
  /** Where the page before these is; null when all are here. */
  next: string | null;
}

// As the page of a connector calls them.
const TITLES = new Map([
  ["base_url", "Address"],
  ["reversible", "Mode"],
  ["timeout_s", "Time-out in seconds"],
  ["url", "Address"],
]);
const FIRST = "/audit/log?limit=200";

/** The log with the page that came before what is known of it. */
export async function earlierLog(log: Log | null): Promise<Log> {
  const page = await send<Logged[]>("GET", log?.next ?? FIRST);
  return { entries: [...(log?.entries ?? []), ...page.value], next: page.next };
}

/** The log with what was added since; anew where so much was added that there would be a gap. */
export async function laterLog(log: Log): Promise<Log> {
  const page = await send<Logged[]>("GET", FIRST);
  const known = log.entries[0]?.seq ?? 0;
  const added = page.value.filter((one) => one.seq > known);
  const closed = (added.at(-1)?.seq ?? known + 1) === known + 1;
  return closed ? { entries: [...added, ...log.entries], next: log.next } : { entries: page.value, next: page.next };
}

/** What somebody did, behind their name. */
export function did(event: LogEvent): string {
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
      return `${verb(event)} the connector of “${event.tool_id ?? ""}”`;
    case "webhook_changed":
      return `${verb(event)} a webhook`;
    default:
      return named(event.type);
  }
}

/** What was changed, member by member. */
export function changed(event: LogEvent): string[] {
  const { before, after } = event;
  if (before === undefined || after === undefined) return [];
  const names = Object.keys({ ...before, ...after }).filter((name) => name !== "version" && name !== "tool_id");
  const found = names
    .filter((name) => !same(before?.[name] ?? null, after?.[name] ?? null))
    .map((name) => (before === null ? `${title(name)}: ${shown(name, after?.[name])}` : after === null ? `${title(name)} was ${shown(name, before[name])}` : `${title(name)}: ${shown(name, before[name])} → ${shown(name, after[name])}`));
  return event.secret === undefined || event.secret === "none" || event.secret === "kept" ? found : [...found, `Secret: ${event.secret}`];
}

function verb(event: LogEvent): string {
  return event.after === null ? "removed" : event.before === null ? "added" : "changed";
}

function title(name: string): string {
  return TITLES.get(name) ?? named(name);
}

function shown(name: string, value: Json | undefined): string {
  if (name === "reversible") return value === true ? "live" : "shadowed";
  if (value === undefined || value === null || value === "") return "none";
  return typeof value === "string" ? value : typeof value === "boolean" ? (value ? "yes" : "no") : JSON.stringify(value);
}
