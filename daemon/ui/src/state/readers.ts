/** Who may read the runs of a template, by the rules of the service. */

import type { Canvas, CompanyFunction, GraphNode, ReaderRule } from "../api/types";
import { isAtLeast, mayDecide } from "../text/labels";

export interface Somebody {
  id: string;
  role: string;
  groups: ReadonlySet<string>;
}

/** The template, and what the company says of functions. */
export interface Setting {
  canvas: Canvas;
  functions: Record<string, CompanyFunction>;
  /** Whether the only person of the company decides alone. */
  solo: boolean;
}

/** Of a function that nobody is bound to the role of the template stands in. */
export function fills(who: Somebody, id: string, { canvas, functions }: Setting): boolean {
  const bound = functions[id];
  if (bound?.bound === true) return isBound(who, bound);
  const role = canvas.functions[id]?.role;
  return role !== undefined && isAtLeast(who.role, role);
}

/** Whether somebody may decide at one of the gates, by an escalation or a breached clock, too. */
export function decides(who: Somebody, setting: Setting): boolean {
  const { canvas } = setting;
  return (
    canvas.nodes.some((node) => node.gate && decidesAt(who, node, setting)) ||
    canvas.clocks.some(({ on_breach }) => on_breach !== null && reaches(who, on_breach.escalate))
  );
}

function decidesAt(who: Somebody, node: GraphNode, { functions, solo }: Setting): boolean {
  const { policy } = node;
  if (policy === null) return false;
  const deadline = policy.on_deadline;
  if (deadline !== null && typeof deadline !== "string" && reaches(who, deadline.escalate))
    return true;
  const bound = policy.function === null ? undefined : functions[policy.function];
  if (bound?.bound === true) return solo || isBound(who, bound);
  if (!mayDecide(who.role, "manager") || !mayDecide(who.role, node.role ?? policy.role))
    return false;
  return solo || policy.groups.length === 0 || policy.groups.some((one) => who.groups.has(one));
}

/** Whether a rule names somebody; who may decide is not asked. */
export function isNamed(who: Somebody, rule: ReaderRule, setting: Setting): boolean {
  return (
    setting.solo ||
    (rule.role !== null && reaches(who, rule.role)) ||
    rule.groups.some((one) => who.groups.has(one)) ||
    rule.functions.some((id) => fills(who, id, setting))
  );
}

function isBound(who: Somebody, bound: CompanyFunction): boolean {
  return bound.members.includes(who.id) || bound.groups.some((one) => who.groups.has(one));
}

function reaches(who: Somebody, role: string): boolean {
  return isAtLeast(who.role, role);
}
