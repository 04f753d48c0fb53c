/** Differences between two versions of a gate, in sentences. */

import { equal, prettyPrint } from "../../api/json";
import type { Gate, PlannedCall, Run, Values } from "../../api/types";
import { decisionLabel, humanize } from "../../text/labels";
import { gate as t } from "../../text/en/gate";

/** The version of a gate that the user sees. It changes only on request. */
export interface GateSnapshot {
  run: Run;
  gate: Gate;
}

export function gateDifferences(before: GateSnapshot, after: GateSnapshot): string[] {
  const found: string[] = [];
  if (before.gate.visit !== after.gate.visit) found.push(t("newQuestion"));
  found.push(
    ...valueDifferences(before.run.inputs, after.run.inputs),
    ...valueDifferences(before.run.facts, after.run.facts),
  );
  if (!equal(before.gate.effect, after.gate.effect)) found.push(t("callChanged"));
  found.push(...plannedCallDifferences(before.gate.effects, after.gate.effects));
  if (!equal(before.gate.decisions, after.gate.decisions))
    found.push(
      t("decisionsNow", { decisions: after.gate.decisions.map(decisionLabel).join(", ") }),
    );
  return found.length === 0 ? [t("basisChanged")] : found;
}

/** What has become of the calls that the approval can lead to. */
function plannedCallDifferences(before: PlannedCall[], after: PlannedCall[]): string[] {
  const was = new Map(before.map((call) => [call.step_id, call]));
  const is = new Set(after.map((call) => call.step_id));
  const removed = before
    .filter((call) => !is.has(call.step_id))
    .map((call) => t("noLongerSent", { label: call.label }));
  return [
    ...after.flatMap((call) => {
      const known = was.get(call.step_id);
      if (known === undefined)
        return [t(call.mode === "live" ? "canBeSentLive" : "canBeSentDry", { label: call.label })];
      if (known.mode !== call.mode)
        return [
          call.mode === "live"
            ? t("nowLive", { label: call.label })
            : t("nowDryRun", { label: call.label }),
        ];
      if (!equal(known.connector, call.connector))
        return [t("connectorChanged", { label: call.label, call: connectorText(call) })];
      return equal(known.call, call.call) ? [] : [t("contentChanged", { label: call.label })];
    }),
    ...removed,
  ];
}

function connectorText({ connector }: PlannedCall): string {
  return connector === null
    ? t("callsNothing")
    : t("callsAt", {
        call: `${connector.method} ${connector.origin}${connector.path}`,
        version: String(connector.version),
      });
}

function valueDifferences(before: Values, after: Values): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !equal(before[name] ?? null, after[name] ?? null),
  );
  return names.map((name) => {
    if (!(name in before))
      return t("valueNew", { name: humanize(name), value: shortText(after[name] ?? null) });
    if (!(name in after)) return t("valueRemoved", { name: humanize(name) });
    return t("valueChanged", {
      name: humanize(name),
      before: shortText(before[name] ?? null),
      after: shortText(after[name] ?? null),
    });
  });
}

function shortText(value: unknown): string {
  const text = typeof value === "string" ? value : prettyPrint(value).replace(/\s+/g, " ");
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
