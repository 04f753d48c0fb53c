/** What changed between two documents: each step, and the fields in which it differs. */

import { isObject, stringify } from "../../../../api/json";
import type { Difference, StepDifference } from "../../../../components/Differences";
import type { StepMark } from "../../../../graph/elements";
import type { Draft, Step } from "./document";

const DEFAULTS: Record<string, unknown> = {
  quorum: 1,
  denials: 1,
  comment: "optional",
  code: "optional",
};
const OWN = new Set(["steps", "vertical", "version"]);

export function compare(before: Draft, after: Draft): StepDifference[] {
  const old = new Map(before.steps.map((step) => [step.id, withDefaults(step)]));
  const now = new Map(after.steps.map((step) => [step.id, withDefaults(step)]));
  const found: StepDifference[] = [];
  for (const step of now.values()) {
    const was = old.get(step.id);
    if (was === undefined) found.push({ ...named(step), mark: "added", fields: [] });
    else {
      const fields = differing(was, step, new Set(["id"]), DEFAULTS);
      if (fields.length > 0) found.push({ ...named(step), mark: "changed", fields });
    }
  }
  for (const step of before.steps)
    if (!now.has(step.id)) found.push({ ...named(step), mark: "removed", fields: [] });
  return found;
}

/** The members of the documents themselves that differ. */
export function compareDocuments(before: Draft, after: Draft): Difference[] {
  return differing(inOrder(before), inOrder(after), OWN);
}

/** What a step means that a published one says: texts may leave defaults out. */
function withDefaults(step: Step): Step {
  const said = Object.entries(step).filter(([name, value]) => DEFAULTS[name] !== value);
  const flow = step.kind === "gateway" ? { flow: "exclusive" } : {};
  return {
    ...flow,
    tier: step.kind === "gate" ? "high" : "low",
    ...Object.fromEntries(said),
  } as unknown as Step;
}

/** A document whose inputs say in which order they stand, as a published one does. */
function inOrder(document: Draft): Draft {
  const start = document["start"] ?? document.steps[0]?.id;
  return { ...document, start, inputs_schema: withOrder(document["inputs_schema"]) };
}

function withOrder(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const found = mapped(schema, withOrder);
  const properties = schema["properties"];
  if (!isObject(properties)) return found;
  const order = { "x-order": Object.keys(properties) };
  return { ...order, ...found, properties: mapped(properties, withOrder) };
}

function mapped(members: Record<string, unknown>, to: (value: unknown) => unknown) {
  return Object.fromEntries(Object.entries(members).map(([name, one]) => [name, to(one)]));
}

export function marksOf(changes: StepDifference[]): Map<string, StepMark> {
  return new Map(changes.map((change) => [change.id, change.mark]));
}

function named(step: Step): { id: string; label: string } {
  return { id: step.id, label: step.label };
}

function differing(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  without: Set<string>,
  defaults: Record<string, unknown> = {},
): Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => !without.has(name))
    .map((name) => ({
      name,
      before: shortText(before[name] ?? defaults[name]),
      after: shortText(after[name] ?? defaults[name]),
    }))
    .filter((field) => field.before !== field.after);
}

/** Whether two values say the same, in whatever order their members stand. */
export function same(one: unknown, other: unknown): boolean {
  return stringify(sorted(one)) === stringify(sorted(other));
}

/** A value as text; what is absent, null, false or empty says nothing. */
export function shortText(value: unknown): string {
  if (value === undefined || value === null || value === false) return "";
  if (typeof value === "string") return value;
  const text = stringify(sorted(value));
  return text === "[]" || text === "{}" ? "" : text;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const members = Object.entries(value);
  return Object.fromEntries(
    members
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, one]) => [name, sorted(one)]),
  );
}
