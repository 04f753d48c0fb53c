/** How things are called and said, in one place. */

import type { Gate, GraphNode, RunEvent, RunStatus, Tier, VisitStatus } from "./types";

export const TIERS: Tier[] = ["critical", "high", "medium", "low"];
export const ROLES = ["member", "manager", "owner"];

export const STATUS: Record<RunStatus, string> = {
  executing: "Running",
  parked: "Waiting for a decision",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

export type StepState = VisitStatus | "skipped" | "ahead";
export const STEP: Record<StepState, string> = {
  waiting: "Waiting for other branches",
  ready: "About to run",
  calling: "Running",
  parked: "Waiting for a decision",
  done: "Done",
  denied: "Denied",
  failed: "Failed",
  cancelled: "Cancelled",
  skipped: "Not taken",
  ahead: "Not reached yet",
};

export const EFFECT: Record<string, string> = {
  read: "Only reads",
  reversible: "Can be undone",
  irreversible: "Cannot be undone",
};

/** A key as people would write it: `claimed_amount` is “Claimed amount”. */
export function named(key: string): string {
  const spaced = key.replace(/[_-]+/g, " ").trim();
  return spaced === "" ? key : spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

// Maps, since a branch may be called what every object has.
const DECISIONS = new Map([
  ["approved", "Approve"],
  ["denied", "Deny"],
  ["retry", "Send it again"],
  ["done", "It was done"],
]);
const DECIDED = new Map([
  ["approved", "approved"],
  ["denied", "denied"],
  ["retry", "had it sent again"],
  ["done", "said that it was done"],
]);

/** A decision as what somebody does; branches are called what the template calls them. */
export function decisionWord(decision: string): string {
  return DECISIONS.get(decision) ?? named(decision);
}

export function decided(decision: string): string {
  return DECIDED.get(decision) ?? `chose “${decision}”`;
}

/** Whether somebody of a role may decide where that role is needed. */
export function mayDecide(role: string, needed: string | null): boolean {
  return needed === null || ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Why a gate waits, for somebody who does not know the service. */
export function whyItWaits(gate: Gate): string {
  const { reason, tier } = gate;
  if (reason === "outcome unknown") {
    return "The call may or may not have reached the other side. Nobody can know from here, so it is not sent again without you.";
  }
  if (reason.startsWith("tier ")) return `Steps of ${tier} risk always wait for a person.`;
  if (reason === "this step is a human sign-off") return "This step is a sign-off by a person.";
  if (reason === "every step of this run waits for a human") return "This run was started so that every step waits for a person.";
  if (reason.startsWith("the signal of ")) return `A check came back with a hit (${gate.signals.map(named).join(", ")}), so a person looks at it first.`;
  if (reason.startsWith("the input ")) return `Information is missing: ${reason}.`;
  if (reason === "the condition of no branch holds") return "None of the rules for the next step applies, so a person chooses.";
  return `${named(reason.charAt(0)) + reason.slice(1)}.`;
}

/** An event of a history as a sentence without its subject. */
export function told(event: RunEvent, label: (step: string) => string): string {
  const step = event.step_id === undefined ? "" : `“${label(event.step_id)}”`;
  switch (event.type) {
    case "run_started":
      return "started the run";
    case "step_entered":
      return event.waiting === true ? `${step} waits for its other branches` : event.by ? `had ${step} tried again` : `${step} began`;
    case "step_cleared":
      return event.branch ? `${step} went on to “${event.branch}”` : `${step} was cleared to run`;
    case "call_settled":
      return event.error ? `${step} failed: ${event.error.detail}` : `${step} finished`;
    case "gate_opened":
      return `${step} waits for a decision`;
    case "verdict_given":
      return `${decided(event.decision ?? "")} ${step}`;
    case "run_ended":
      return event.status === "completed" ? `the run completed: ${named(event.outcome ?? "")}` : event.status === "cancelled" ? "cancelled the run" : `the run failed: ${event.error?.detail ?? ""}`;
    default:
      return `${named(event.type)} ${step}`;
  }
}

export function kindWord(node: GraphNode): string {
  if (node.kind === "gateway") return node.flow === "parallel" ? "Parallel branches" : node.gate ? "Choice by a person" : "Choice by rule";
  if (node.kind === "end") return "End";
  if (node.kind === "gate") return "Sign-off";
  return node.gate ? "Step that needs approval" : "Automatic step";
}

const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function ago(iso: string, now: number): string {
  const seconds = Math.round((Date.parse(iso) - now) / 1000);
  for (const [unit, size] of UNITS) if (Math.abs(seconds) >= size) return AGO.format(Math.trunc(seconds / size), unit);
  return "just now";
}

const FULL = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
export function moment(iso: string): string {
  return FULL.format(new Date(iso));
}

export function lasted(from: string, to: string | null): string {
  if (to === null) return "";
  const ms = Math.max(0, Date.parse(to) - Date.parse(from));
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return ms < 86_400_000 ? `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min` : `${Math.floor(ms / 86_400_000)} d`;
}
