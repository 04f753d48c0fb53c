/** The names that conditions of a draft can read. */

import { clocksIn } from "./clocks";
import type { Draft, Step } from "./document";

interface Schema {
  properties?: Record<string, Schema>;
}

const IDENTIFIER = /^[A-Za-z_]\w*$/;

/** Inputs by their schema, and facts by the steps that make some. */
export function namesIn(draft: Draft): string[] {
  const inputs = membersOf(draft["inputs_schema"]);
  const facts = draft.steps.flatMap((step) => factsOf(draft, step));
  return ["inputs", ...inputs.map((path) => `inputs${path}`), "facts", ...facts];
}

/** The times of its clocks, which the end of a wait may read. */
export function clockNames(draft: Draft): string[] {
  const clocks = clocksIn(draft).map(({ id }) => `clocks${member(id)}`);
  return clocks.flatMap((name) => [name, `${name}.due_at`, `${name}.started_at`]);
}

/** What a step's own condition reads: the output of its tool. */
export function outputsOf(draft: Draft, step: Step): string[] {
  return ["output", ...outputPaths(draft, step).map((path) => `output${path}`)];
}

function factsOf(draft: Draft, step: Step): string[] {
  const name = `facts${member(step.id)}`;
  const below = (...paths: string[]) => paths.map((path) => name + path);
  const form = step["form"] === undefined ? [] : [".form", ...membersOf(step["form"], ".form")];
  if (step.kind === "wait") return below(...(step["message"] === undefined ? [] : [".payload"]));
  if (step.kind !== "task") return below(...form);
  const failed = step["on_error"] === undefined ? [] : [".error.code"];
  return [name, ...below(...outputPaths(draft, step), ".signal", ...failed, ...form)];
}

/** The members of a tool's output: those of its schema, and those that it answers in the dry run. */
function outputPaths(draft: Draft, step: Step): string[] {
  const cases = Array.isArray(step["dry_run"]) ? (step["dry_run"] as unknown[]) : [];
  const answered = cases.flatMap((one) => Object.keys((one as { output?: object })?.output ?? {}));
  const tools = draft["tools"] as Record<string, { output?: unknown }> | undefined;
  const schema = tools?.[String(step["tool"])]?.output;
  return [...new Set([...membersOf(schema), ...answered.map(member)])];
}

function membersOf(schema: unknown, before = ""): string[] {
  const { properties = {} } = (schema ?? {}) as Schema;
  return Object.entries(properties).flatMap(([name, one]) => {
    const path = before + member(name);
    return [path, ...membersOf(one, path)];
  });
}

function member(name: string): string {
  return IDENTIFIER.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** The part of an expression before the caret that is the beginning of a name. */
export function wordBefore(text: string): string {
  return /(?:[\w.]|\["[\w-]*"?\]?)+$/.exec(text)?.[0] ?? "";
}

/** The names that a word may be the beginning of; `look` finds `facts["look-up"]` as well. */
export function fitting(names: string[], word: string): string[] {
  if (word === "") return [];
  const sought = plain(word);
  const begun = names.filter((name) => name !== word && plain(name).startsWith(sought));
  const inside = names.filter(
    (name) => !begun.includes(name) && plain(name).includes(`.${sought}`),
  );
  return [...begun, ...(sought.includes(".") ? [] : inside)];
}

function plain(name: string): string {
  return name.replaceAll('["', ".").replaceAll(/"?\]/g, "");
}
