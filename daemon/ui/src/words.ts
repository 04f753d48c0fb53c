/** How things are called and said, in one place. */

import type { GraphNode, RunStatus, Tier, VisitStatus } from "./types";

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
/** A decision as what somebody does; branches are called what the template calls them. */
export function decisionWord(decision: string): string {
  return DECISIONS.get(decision) ?? named(decision);
}

/** Whether somebody of a role may decide where that role is needed. */
export function mayDecide(role: string, needed: string | null): boolean {
  return needed === null || ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

export function kindWord(node: GraphNode): string {
  if (node.kind === "gateway") return node.flow === "parallel" ? "Parallel branches" : node.gate ? "Choice by a person" : "Choice by rule";
  if (node.kind === "end") return "End";
  if (node.kind === "gate") return "Sign-off";
  return node.gate ? "Step that needs approval" : "Automatic step";
}

const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS: ["day" | "hour" | "minute", number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** The largest unit of a time, and how many of it have passed; nothing below a minute. */
function passed(iso: string, now: number): { unit: "day" | "hour" | "minute"; count: number } | null {
  const seconds = Math.round((Date.parse(iso) - now) / 1000);
  for (const [unit, size] of UNITS) if (Math.abs(seconds) >= size) return { unit, count: Math.trunc(seconds / size) };
  return null;
}

/** “2 minutes ago”. */
export function ago(iso: string, now: number): string {
  const found = passed(iso, now);
  return found === null ? "just now" : AGO.format(found.count, found.unit);
}

/** “for 2 minutes”. */
export function forHowLong(iso: string, now: number): string {
  const found = passed(iso, now);
  if (found === null || found.count >= 0) return "for less than a minute";
  return `for ${-found.count} ${found.unit}${found.count === -1 ? "" : "s"}`;
}

const FULL = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
export function moment(iso: string): string {
  return FULL.format(new Date(iso));
}

export function lasted(from: string, to: string | null): string {
  if (to === null) return "";
  const ms = Math.max(0, Date.parse(to) - Date.parse(from));
  const [seconds, minutes, hours] = [1_000, 60_000, 3_600_000].map((unit) => Math.floor(ms / unit)) as [number, number, number];
  if (seconds < 1) return `${Math.round(ms)} ms`;
  if (minutes < 1) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (hours < 1) return `${minutes} min ${seconds % 60} s`;
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
