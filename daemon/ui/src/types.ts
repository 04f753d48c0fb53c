/** What the service answers, as docs/openapi.json describes it. */

export type Json = null | boolean | number | string | Exact | Json[] | { [key: string]: Json };
export type Facts = { [key: string]: Json };
export type Tier = "low" | "medium" | "high" | "critical";
export type RunStatus = "executing" | "parked" | "completed" | "failed" | "cancelled";
export type VisitStatus = "waiting" | "ready" | "calling" | "parked" | "done" | "denied" | "failed" | "cancelled";
export type Kind = "task" | "gate" | "gateway" | "end";

/** A number that JavaScript would round: it is shown, and sent, as it was written. */
export class Exact {
  constructor(readonly text: string) {}
}

export interface Account {
  user: { id: string; email: string; name: string | null };
  company: { id: string; name: string };
  role: string;
}

export interface TemplateSummary {
  vertical: string;
  title: string;
  description: string;
  version: number;
  digest: string;
  gates: string[];
  steps: number;
}

export interface TemplateDetail extends TemplateSummary {
  inputs_schema: Schema;
  inputs: Facts;
}

export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: Json[];
  title?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  format?: string;
  items?: Schema;
}

export interface GraphNode {
  id: string;
  kind: Kind;
  label: string;
  tier: Tier;
  tool: string | null;
  effect: "read" | "reversible" | "irreversible" | null;
  gate: boolean;
  decisions: string[];
  role: string | null;
  flow: "exclusive" | "parallel" | null;
  outcome: string | null;
}

export interface GraphEdge {
  source: string;
  target: string;
  branch: string | null;
  when: string | null;
}

export interface Canvas {
  vertical: string;
  version: number;
  digest: string;
  title: string;
  start: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  gates: string[];
}

export interface Call {
  tool: string;
  mode: "shadow" | "live";
  method: string | null;
  url: string | null;
  headers: Record<string, string>;
  body: Json;
  connector_version: number | null;
}

/** A call that cannot be undone and that a decision can lead to before the next person is asked. */
export interface Reach {
  step_id: string;
  label: string;
  tool: string;
  decisions: string[];
  mode: "shadow" | "live";
  connector: { origin: string; method: string; path: string; version: number } | null;
  call: Call | null;
}

export interface Gate {
  step_id: string;
  label: string;
  kind: Kind;
  tier: Tier;
  visit: number;
  decisions: string[];
  role: string | null;
  reason: string;
  opened_at: string;
  digest: string;
  signals: string[];
  effect: Call | null;
  effects?: Reach[];
  /** JSON pointers of inputs that nobody has handed in. */
  missing?: string[];
}

export interface Verdict {
  decision: string;
  by: string;
  at: string;
  comment: string | null;
}

export interface Failure {
  code: string;
  detail: string;
  step_id: string | null;
  attempts: number;
  status_code: number | null;
  excerpt: string | null;
}

export interface Visit {
  step_id: string;
  visit: number;
  kind: Kind;
  status: VisitStatus;
  mode: "shadow" | "live" | null;
  tier: Tier;
  resolved_by: string | null;
  reason: string | null;
  verdict: Verdict | null;
  started_at: string;
  ended_at: string | null;
  request: Call | null;
  output: Json;
  attempts: number;
  error: Failure | null;
}

export interface Run {
  id: string;
  vertical: string;
  template: { version: number; digest: string };
  status: RunStatus;
  parked_at: string | null;
  gate: Gate | null;
  parked_gates: string[];
  gates: Gate[];
  auto_resolve: boolean;
  inputs: Facts;
  facts: Facts;
  outcome: string | null;
  error: Failure | null;
  trace: Visit[];
  version: number;
  created_by: string;
  created_at: string;
  updated_at: string;
  completed_at: string | null;
  ended: { at: string; by: string | null; reason: string | null } | null;
}

export interface RunEvent {
  seq: number;
  type: string;
  at: string;
  by?: string | null;
  step_id?: string;
  visit?: number;
  source?: string | null;
  decision?: string;
  decisions?: string[];
  comment?: string | null;
  reason?: string | null;
  branch?: string | null;
  label?: string;
  status?: string;
  outcome?: string | null;
  was?: string | null;
  error?: Failure | null;
  request?: Call | null;
  vertical?: string;
  auto_resolve?: boolean;
  attempts?: number;
  waiting?: boolean;
}

export interface Placed {
  id: string;
  run_id: string;
  seq: number;
  event: RunEvent;
}

export interface Connector {
  tool_id: string;
  base_url: string;
  method: string;
  path: string;
  auth_type: "none" | "bearer" | "header" | "basic";
  auth_header: string | null;
  auth_token_set: boolean;
  query_map: Record<string, string> | null;
  body_map: Record<string, string> | null;
  signal_rule: string | null;
  reversible: boolean;
  idempotent: boolean;
  timeout_s: number;
  retries: number;
  version: number;
  updated_at: string;
  updated_by: string;
}

export interface Trial {
  ok: boolean;
  status_code: number | null;
  latency_ms: number | null;
  body: Json;
  error: string | null;
}

export interface Checkpoint {
  at: string;
  company: string;
  key_id: string;
  previous: string | null;
  root: string;
  signature: string;
  size: number;
}
