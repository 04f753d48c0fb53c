/** The company log: sign-ins, and what people changed outside of runs. */

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
  /** Empty for what nobody did; missing where the content is left out. */
  by?: string;
  by_kind?: string;
  before?: Properties | MemberForm | string[] | null;
  after?: Properties | MemberForm | string[] | null;
  begins?: string;
  change?: string;
  commits?: number;
  ends?: string;
  expires_at?: string | null;
  form?: { run_id: string; sha256: string };
  pointers?: string[];
  giver?: string;
  group?: string;
  issuer?: string;
  kind?: string;
  name?: string | null;
  prefix?: string;
  reason?: string;
  role?: string;
  run_id?: string;
  secret?: string;
  subject?: string;
  template_version?: number;
  to?: string;
  tool_id?: string;
  user?: string;
  vertical?: string;
  verticals?: string[];
  via?: string;
  /** What kind of entry is left out, because its run is closed to the reader. */
  withheld?: string;
}

export interface LogEntry {
  seq: number;
  event: LogEvent;
}
