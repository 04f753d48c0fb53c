/** Labels, and formats of keys, times and durations. */

import type { GraphNode, RunStatus, StepStatus, Tier, Values } from "../api/types";

/** What a gate asks: its question, or else its label. */
export function asked(gate: { question: string | null; label: string }): string {
  return gate.question ?? gate.label;
}

export const TIERS: Tier[] = ["critical", "high", "medium", "low"];
/** Each may do all that the one before it may. */
export const ROLES = ["viewer", "member", "manager", "admin", "owner"];

export const RUN_STATUS_LABELS: Record<RunStatus, string> = {
  executing: "Running",
  waiting: "Waiting",
  parked: "Waiting for a decision",
  compensating: "Being undone",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

export type StepState = StepStatus | "skipped" | "pending";
export const STEP_STATE_LABELS: Record<StepState, string> = {
  waiting: "Waiting",
  ready: "Ready",
  calling: "Running",
  parked: "Waiting for a decision",
  done: "Done",
  denied: "Denied",
  failed: "Failed",
  cancelled: "Cancelled",
  skipped: "Skipped",
  pending: "Pending",
};

export const EFFECT_LABELS: Record<string, string> = {
  read: "Read-only",
  reversible: "Reversible",
  irreversible: "Irreversible",
};

/** A key as a label: `claimed_amount` is “Claimed amount”. */
export function humanize(key: string): string {
  const spaced = key.replace(/[_-]+/g, " ").trim();
  return spaced === "" ? key : spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

// A Map, because a branch may have the name of an Object.prototype property.
const DECISION_LABELS = new Map([
  ["approved", "Approve"],
  ["denied", "Deny"],
  ["retry", "Send again"],
  ["done", "Mark as done"],
]);
/** A decision as an action. Branches keep their names from the template. */
export function decisionLabel(decision: string): string {
  return DECISION_LABELS.get(decision) ?? humanize(decision);
}

/** Whether a role may do what needs another. */
export function isAtLeast(role: string, needed: string): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Whether a role may decide at a gate that needs another. */
export function mayDecide(role: string, needed: string | null): boolean {
  return isAtLeast(role, needed ?? "manager");
}

/** “86 %”. Less than all is never shown as 100 %. */
export function formatConfidence(confidence: number): string {
  const rounded = Math.round(confidence * 1_000) / 10;
  return `${confidence < 1 ? Math.min(rounded, 99.9) : 100} %`;
}

export function nodeKindLabel(node: GraphNode): string {
  if (node.kind === "gateway")
    return node.flow === "parallel"
      ? "Parallel branches"
      : node.gate
        ? "Choice by a person"
        : "Choice by rule";
  if (node.kind === "end") return "End";
  if (node.kind === "gate") return "Sign-off";
  return node.gate ? "Step that needs approval" : "Automatic step";
}

const RELATIVE_TIME = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS: ["day" | "hour" | "minute", number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** A time span in its largest unit; null below a minute. */
function elapsed(
  iso: string,
  now: number,
): { unit: "day" | "hour" | "minute"; count: number } | null {
  const seconds = Math.round((Date.parse(iso) - now) / 1000);
  for (const [unit, size] of UNITS)
    if (Math.abs(seconds) >= size) return { unit, count: Math.trunc(seconds / size) };
  return null;
}

/** “2 minutes ago”. */
export function timeAgo(iso: string, now: number): string {
  const found = elapsed(iso, now);
  return found === null ? "just now" : RELATIVE_TIME.format(found.count, found.unit);
}

/** “for 2 minutes”. */
export function elapsedTime(iso: string, now: number): string {
  const found = elapsed(iso, now);
  if (found === null || found.count >= 0) return "for less than a minute";
  return `for ${-found.count} ${found.unit}${found.count === -1 ? "" : "s"}`;
}

const DATE_TIME = new Intl.DateTimeFormat("en", {
  dateStyle: "medium",
  timeStyle: "medium",
  hourCycle: "h23",
});
export function formatTime(iso: string): string {
  return DATE_TIME.format(new Date(iso));
}

export function formatDuration(from: string, to: string | null): string {
  if (to === null) return "";
  const ms = Math.max(0, Date.parse(to) - Date.parse(from));
  const [seconds, minutes, hours] = [1_000, 60_000, 3_600_000].map((unit) =>
    Math.floor(ms / unit),
  ) as [number, number, number];
  if (seconds < 1) return `${Math.round(ms)} ms`;
  if (minutes < 1) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (hours < 1) return `${minutes} min ${seconds % 60} s`;
  return hours < 24
    ? `${hours} h ${minutes % 60} min`
    : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The two inputs that best identify a run: identifiers first, then amounts. */
export function keyInputs(inputs: Values): [string, string][] {
  const found = Object.entries(inputs).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" && value !== ""
      ? [[name, value]]
      : typeof value === "number"
        ? [[name, String(value)]]
        : [],
  );
  const weight = ([name]: [string, string]) =>
    /_?(id|name|ref|number|code|party|person|service)$/.test(name)
      ? 0
      : /amount|balance|total/.test(name)
        ? 1
        : 2;
  return found.sort((a, b) => weight(a) - weight(b)).slice(0, 2);
}
