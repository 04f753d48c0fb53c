/** Labels, and formats of keys, times and durations. */

import { ExactNumber } from "../api/json";
import type { GraphNode, Mode, RunStatus, StepStatus, Tier, Values } from "../api/types";
import { labels as t } from "./en/labels";
import { formatMoney, formatNumber, formatRelative, formatTime, numberText } from "./formats";

export { formatTime };

export const TIERS: Tier[] = ["critical", "high", "medium", "low"];
/** Each may do all that the one before it may. */
export const ROLES = ["viewer", "member", "manager", "admin", "owner"];

export const RUN_STATUSES: RunStatus[] = [
  "executing",
  "waiting",
  "parked",
  "compensating",
  "completed",
  "failed",
  "cancelled",
];

export type StepState = StepStatus | "skipped" | "pending";

export function statusLabel(status: RunStatus): string {
  return t.code("status", status);
}

export function stateLabel(state: StepState): string {
  return t.code("state", state);
}

export function effectLabel(effect: string): string {
  return t.code("effect", effect);
}

/** “High”. */
export function tierLabel(tier: string): string {
  return t.code("tier", tier, humanize(tier));
}

/** “High risk”. */
export function riskLabel(tier: Tier): string {
  return t.code("risk", tier);
}

/** “Manager”. */
export function roleLabel(role: string): string {
  return t.code("role", role, humanize(role));
}

/** “a manager”, as somebody is one. */
export function aRole(role: string): string {
  return t.code("aRole", role);
}

/** “A manager, admin or owner”: the roles that may do what needs one. */
export function rolesFrom(needed: string): string {
  return t.code("roles", needed);
}

/** “Live”, “Dry run”, or “The agent makes it”. */
export function modeLabel(mode: Mode): string {
  return t.code("mode", mode);
}

/** A text in the quotation marks of the language. */
export function quoted(text: string): string {
  return t("quoted", { text });
}

/** A key as a label: `claimed_amount` is “Claimed amount”. */
export function humanize(key: string): string {
  const spaced = key.replace(/[_-]+/g, " ").trim();
  return spaced === "" ? key : spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

/** A decision as an action. Branches keep their names from the template. */
export function decisionLabel(decision: string): string {
  return t.code("decision", decision, humanize(decision));
}

/** How a run ended: the word of its template, or the service's own of a denial. */
export function outcomeLabel(outcome: string): string {
  return t.code("outcome", outcome, humanize(outcome));
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
  return `${formatNumber(confidence < 1 ? Math.min(rounded, 99.9) : 100)} %`;
}

export function nodeKindLabel(node: GraphNode): string {
  if (node.kind === "gateway")
    return t(node.flow === "parallel" ? "kind.parallel" : node.gate ? "kind.choice" : "kind.rule");
  if (node.kind === "task") return t(node.gate ? "kind.approval" : "kind.task");
  return t.code("kind", node.kind, humanize(node.kind));
}

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
  return found === null ? t("justNow") : formatRelative(found.count, found.unit);
}

/** “19 min”, as it stands under the heading “Waiting”. */
export function waitingTime(iso: string, now: number): string {
  const found = elapsed(iso, now);
  if (found === null || found.count >= 0) return t("lessThanMinute");
  const units = { day: "d", hour: "h", minute: "min" } as const;
  return inUnits([-found.count, units[found.unit]]);
}

/** “for 2 minutes”. */
export function elapsedTime(iso: string, now: number): string {
  const found = elapsed(iso, now);
  if (found === null || found.count >= 0) return t("forLess");
  const count = -found.count;
  if (found.unit === "day") return t("forDays", { count });
  return found.unit === "hour" ? t("forHours", { count }) : t("forMinutes", { count });
}

/** “3 h”; the units of one span stand side by side. */
export function inUnits(...parts: [number, "d" | "h" | "min" | "s" | "ms"][]): string {
  return parts.map(([n, unit]) => t(`unit.${unit}`, { n })).join(" ");
}

export function formatDuration(from: string, to: string | null): string {
  if (to === null) return "";
  const ms = Math.max(0, Date.parse(to) - Date.parse(from));
  const [seconds, minutes, hours] = [1_000, 60_000, 3_600_000].map((unit) =>
    Math.floor(ms / unit),
  ) as [number, number, number];
  if (seconds < 1) return inUnits([Math.round(ms), "ms"]);
  if (minutes < 1) return inUnits([Math.floor(ms / 100) / 10, "s"]);
  if (hours < 1) return inUnits([minutes, "min"], [seconds % 60, "s"]);
  return hours < 24
    ? inUnits([hours, "h"], [minutes % 60, "min"])
    : inUnits([Math.floor(hours / 24), "d"], [hours % 24, "h"]);
}

const AMOUNTS = /amount|balance|total/;

/** The ISO 4217 code that the inputs name, if they name one. */
export function currencyOf(inputs: Values): string | null {
  const { currency } = inputs;
  return typeof currency === "string" && /^[A-Z]{3}$/.test(currency) ? currency : null;
}

function numberOf(name: string, value: number | ExactNumber, currency: string | null): string {
  const text = value instanceof ExactNumber ? value.text : String(value);
  return AMOUNTS.test(name) ? formatMoney(text, currency) : numberText(text);
}

/** The two inputs that best identify a run: identifiers first, then amounts in their currency. */
export function keyInputs(inputs: Values): [string, string][] {
  const currency = currencyOf(inputs);
  const found = Object.entries(inputs).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" && value !== "" && name !== "currency"
      ? [[name, value]]
      : typeof value === "number" || value instanceof ExactNumber
        ? [[name, numberOf(name, value, currency)]]
        : [],
  );
  const weight = ([name]: [string, string]) =>
    /_?(id|name|ref|number|code|party|person|service)$/.test(name) ? 0 : AMOUNTS.test(name) ? 1 : 2;
  return found.sort((a, b) => weight(a) - weight(b)).slice(0, 2);
}
