/** What is different at a gate since somebody opened it, in sentences. */

import { pretty, same } from "./json";
import type { Facts, Gate, Json, Reach, Run } from "./types";
import { decisionWord, named } from "./words";

/** What somebody has before them: it stays as it is until they ask for what stands now. */
export interface Shown {
  run: Run;
  gate: Gate;
}

export function between(before: Shown, after: Shown): string[] {
  const found: string[] = [];
  if (before.gate.visit !== after.gate.visit) found.push("The run came here once more: this is a new question, and the earlier one was answered.");
  found.push(...facts(before.run.inputs, after.run.inputs), ...facts(before.run.facts, after.run.facts));
  if (!same(before.gate.effect, after.gate.effect)) found.push("The call that an approval makes is another one now.");
  found.push(...reaches(before.gate.effects ?? [], after.gate.effects ?? []));
  if (!same(before.gate.decisions, after.gate.decisions)) found.push(`It can be decided otherwise now: ${after.gate.decisions.map(decisionWord).join(", ")}.`);
  return found.length === 0 ? ["What the decision rests on is not the same any more."] : found;
}

/** What has become of the calls that the approval can lead to. */
function reaches(before: Reach[], after: Reach[]): string[] {
  const was = new Map(before.map((one) => [one.step_id, one]));
  const is = new Set(after.map((one) => one.step_id));
  const gone = before.filter((one) => !is.has(one.step_id)).map((one) => `“${one.label}” does not follow any more.`);
  return [
    ...after.flatMap((one) => {
      const known = was.get(one.step_id);
      if (known === undefined) return [`“${one.label}” can follow now${one.mode === "live" ? ", and is sent for real" : ", as a dry run"}.`];
      if (known.mode !== one.mode) return [one.mode === "live" ? `“${one.label}” was a dry run, and is sent for real now.` : `“${one.label}” was sent for real, and is a dry run now.`];
      if (!same(known.connector, one.connector)) return [`The connector of “${one.label}” changed: it calls ${where(one)} now.`];
      return same(known.call, one.call) ? [] : [`What “${one.label}” sends is different now.`];
    }),
    ...gone,
  ];
}

function where({ connector }: Reach): string {
  return connector === null ? "nothing" : `${connector.method} ${connector.origin}${connector.path} (version ${connector.version})`;
}

function facts(before: Facts, after: Facts): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !same(before[name] ?? null, after[name] ?? null));
  return names.map((name) => {
    if (!(name in before)) return `${named(name)} is new: ${short(after[name] ?? null)}`;
    if (!(name in after)) return `${named(name)} is gone.`;
    return `${named(name)} was ${short(before[name] ?? null)} and is now ${short(after[name] ?? null)}`;
  });
}

function short(value: Json): string {
  const text = typeof value === "string" ? value : pretty(value).replace(/\s+/g, " ");
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
