/** A rule as its form has it: texts, of which empty ones are left out. */

import { parseObject, prettyPrint } from "../../api/json";
import type { ActionRule } from "../../api/types";

export const TEXTS = [
  "id",
  "tool",
  "server",
  "agent",
  "model",
  "when",
  "reason",
  "question",
  "expires",
] as const;
export const DECISIONS = ["allow", "ask", "deny"] as const;
export const EFFECTS = ["read", "reversible", "irreversible"] as const;
export const OBJECTS = ["gate", "budget"] as const;
const CHOICES = ["decision", "effect", "tier"] as const;

export type RuleName = (typeof TEXTS)[number] | (typeof CHOICES)[number] | (typeof OBJECTS)[number];
export type RuleDraft = Record<RuleName, string> & { key: number; fresh: boolean };

let keys = 0;

export function newDraft(): RuleDraft {
  const names = [...TEXTS, ...CHOICES, ...OBJECTS].map((name) => [name, ""]);
  const empty = Object.fromEntries(names) as Record<RuleName, string>;
  return { ...empty, decision: "ask", effect: "irreversible", key: ++keys, fresh: true };
}

export function draftOf(rule: ActionRule): RuleDraft {
  const draft = { ...newDraft(), fresh: false };
  for (const name of [...TEXTS, ...CHOICES]) draft[name] = rule[name] ?? "";
  for (const name of OBJECTS) draft[name] = rule[name] === null ? "" : prettyPrint(rule[name]);
  return draft;
}

/** The rule as the service takes it; what is no JSON stays a text, for the service to refuse. */
export function ruleOf(draft: RuleDraft): Record<string, unknown> {
  const texts = [...TEXTS, ...CHOICES].map((name): [string, unknown] => [name, draft[name].trim()]);
  const objects = OBJECTS.map((name): [string, unknown] => [
    name,
    draft[name].trim() === "" ? "" : (parseObject(draft[name]) ?? draft[name]),
  ]);
  return Object.fromEntries([...texts, ...objects].filter(([, value]) => value !== ""));
}
