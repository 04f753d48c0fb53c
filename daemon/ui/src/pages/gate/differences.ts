/** What is different at a gate since somebody opened it, in sentences. */

import { equal, prettyPrint } from "../../api/json";
import type { Gate, PlannedCall, Run, Values } from "../../api/types";
import { decisionLabel, humanize } from "../../text/labels";

/** What somebody has before them: it stays as it is until they ask for what stands now. */
export interface GateSnapshot {
  run: Run;
  gate: Gate;
}

export function gateDifferences(before: GateSnapshot, after: GateSnapshot): string[] {
  const found: string[] = [];
  if (before.gate.visit !== after.gate.visit) found.push("The run came here once more: this is a new question, and the earlier one was answered.");
  found.push(...valueDifferences(before.run.inputs, after.run.inputs), ...valueDifferences(before.run.facts, after.run.facts));
  if (!equal(before.gate.effect, after.gate.effect)) found.push("The call that an approval makes is another one now.");
  found.push(...plannedCallDifferences(before.gate.effects, after.gate.effects));
  if (!equal(before.gate.decisions, after.gate.decisions)) found.push(`It can be decided otherwise now: ${after.gate.decisions.map(decisionLabel).join(", ")}.`);
  return found.length === 0 ? ["What the decision rests on is not the same any more."] : found;
}

/** What has become of the calls that the approval can lead to. */
function plannedCallDifferences(before: PlannedCall[], after: PlannedCall[]): string[] {
  const was = new Map(before.map((one) => [one.step_id, one]));
  const is = new Set(after.map((one) => one.step_id));
  const gone = before.filter((one) => !is.has(one.step_id)).map((one) => `“${one.label}” does not follow any more.`);
  return [
    ...after.flatMap((one) => {
      const known = was.get(one.step_id);
      if (known === undefined) return [`“${one.label}” can follow now${one.mode === "live" ? ", and is sent for real" : ", as a dry run"}.`];
      if (known.mode !== one.mode) return [one.mode === "live" ? `“${one.label}” was a dry run, and is sent for real now.` : `“${one.label}” was sent for real, and is a dry run now.`];
      if (!equal(known.connector, one.connector)) return [`The connector of “${one.label}” changed: it calls ${connectorText(one)} now.`];
      return equal(known.call, one.call) ? [] : [`What “${one.label}” sends is different now.`];
    }),
    ...gone,
  ];
}

function connectorText({ connector }: PlannedCall): string {
  return connector === null ? "nothing" : `${connector.method} ${connector.origin}${connector.path} (version ${connector.version})`;
}

function valueDifferences(before: Values, after: Values): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !equal(before[name] ?? null, after[name] ?? null));
  return names.map((name) => {
    if (!(name in before)) return `${humanize(name)} is new: ${shortText(after[name] ?? null)}`;
    if (!(name in after)) return `${humanize(name)} is gone.`;
    return `${humanize(name)} was ${shortText(before[name] ?? null)} and is now ${shortText(after[name] ?? null)}`;
  });
}

function shortText(value: unknown): string {
  const text = typeof value === "string" ? value : prettyPrint(value).replace(/\s+/g, " ");
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
