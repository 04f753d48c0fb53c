/** The company log, newest first: sign-ins, and what people changed outside of runs. */

import { send } from "../../api/client";

export type Properties = Record<string, unknown>;

export interface MemberForm {
  email: string;
  role: string;
  status: "pending" | "active" | "removed";
}

/** The members that the page shows; which of them an event has depends on its type. */
export interface LogEvent {
  type: string;
  at: string;
  by: string;
  by_kind?: string;
  before?: Properties | MemberForm | string[] | null;
  after?: Properties | MemberForm | string[] | null;
  begins?: string;
  change?: string;
  ends?: string;
  expires_at?: string | null;
  giver?: string;
  group?: string;
  issuer?: string;
  kind?: string;
  name?: string | null;
  prefix?: string;
  reason?: string;
  role?: string;
  secret?: string;
  subject?: string;
  template_version?: number;
  to?: string;
  tool_id?: string;
  user?: string;
  vertical?: string;
  verticals?: string[];
  via?: string;
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
