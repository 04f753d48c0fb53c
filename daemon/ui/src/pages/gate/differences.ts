/** Differences between two versions of a gate, in sentences. */

import { equal, prettyPrint } from "../../api/json";
import type { Gate, PlannedCall, Run, Values } from "../../api/types";
import { decisionLabel, humanize } from "../../text/labels";

/** The version of a gate that the user sees. It changes only on request. */
export interface GateSnapshot {
  run: Run;
  gate: Gate;
}

export function gateDifferences(before: GateSnapshot, after: GateSnapshot): string[] {
  const found: string[] = [];
  if (before.gate.visit !== after.gate.visit)
    found.push("The run reached this step again: this is a new question.");
  found.push(
    ...valueDifferences(before.run.inputs, after.run.inputs),
    ...valueDifferences(before.run.facts, after.run.facts),
  );
  if (!equal(before.gate.effect, after.gate.effect))
    found.push("The call on approval has changed.");
  found.push(...plannedCallDifferences(before.gate.effects, after.gate.effects));
  if (!equal(before.gate.decisions, after.gate.decisions))
    found.push(
      `The possible decisions are now: ${after.gate.decisions.map(decisionLabel).join(", ")}.`,
    );
  return found.length === 0 ? ["The basis of the decision has changed."] : found;
}

/** What has become of the calls that the approval can lead to. */
function plannedCallDifferences(before: PlannedCall[], after: PlannedCall[]): string[] {
  const was = new Map(before.map((call) => [call.step_id, call]));
  const is = new Set(after.map((call) => call.step_id));
  const removed = before
    .filter((call) => !is.has(call.step_id))
    .map((call) => `“${call.label}” is no longer sent.`);
  return [
    ...after.flatMap((call) => {
      const known = was.get(call.step_id);
      if (known === undefined)
        return [`“${call.label}” can now be sent${call.mode === "live" ? "" : ", as a dry run"}.`];
      if (known.mode !== call.mode)
        return [
          call.mode === "live"
            ? `“${call.label}” was a dry run and is now live.`
            : `“${call.label}” was live and is now a dry run.`,
        ];
      if (!equal(known.connector, call.connector))
        return [`The connector of “${call.label}” changed: it now calls ${connectorText(call)}.`];
      return equal(known.call, call.call)
        ? []
        : [`The content of the call “${call.label}” has changed.`];
    }),
    ...removed,
  ];
}

function connectorText({ connector }: PlannedCall): string {
  return connector === null
    ? "nothing"
    : `${connector.method} ${connector.origin}${connector.path} (version ${connector.version})`;
}

function valueDifferences(before: Values, after: Values): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !equal(before[name] ?? null, after[name] ?? null),
  );
  return names.map((name) => {
    if (!(name in before)) return `${humanize(name)} is new: ${shortText(after[name] ?? null)}`;
    if (!(name in after)) return `${humanize(name)} was removed.`;
    return `${humanize(name)} was ${shortText(before[name] ?? null)} and is now ${shortText(after[name] ?? null)}`;
  });
}

function shortText(value: unknown): string {
  const text = typeof value === "string" ? value : prettyPrint(value).replace(/\s+/g, " ");
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
