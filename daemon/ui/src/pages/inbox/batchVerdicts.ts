/** Which of the selected gates one decision can close without anything else. */

import { get, toProblem } from "../../api/client";
import type { GateRow, OpenGate } from "../../api/types";
import type { Amount } from "../../text/identity";
import { amountOf } from "../../text/identity";
import { OUTCOME_UNKNOWN } from "../../text/sentences";

export type BatchDecision = "approved" | "denied";
/** Why a gate is decided alone. */
export type Alone =
  "asksMore" | "notOffered" | "never" | "unknown" | "notYours" | "tooMany" | "gone" | "notLoaded";

/** A gate of a batch as the service has it now. */
export interface BatchItem {
  row: GateRow;
  open: OpenGate;
  amount: Amount | null;
}

export interface BatchPlan {
  taken: BatchItem[];
  left: { row: GateRow; why: Alone }[];
  /** Whether a comment is asked for. */
  comment: boolean;
}

/** So many verdicts one request takes, and one person can be asked to look at. */
export const BATCH_MAX = 100;
const LOADED_AT_ONCE = 6;
const ASKED: Record<BatchDecision, string[]> = {
  approved: ["form", "inputs"],
  denied: ["denial_code", "inputs"],
};

export function batchOf(
  rows: GateRow[],
  gates: ReadonlyMap<string, OpenGate | Alone>,
  decision: BatchDecision,
): BatchPlan {
  const plan: BatchPlan = { taken: [], left: [], comment: false };
  for (const row of rows) {
    const open = gates.get(keyOfItem(row)) ?? "notLoaded";
    const why = typeof open === "string" ? open : alone(row, open, decision);
    if (typeof open === "string" || why !== null) plan.left.push({ row, why: why ?? "gone" });
    else if (plan.taken.length === BATCH_MAX) plan.left.push({ row, why: "tooMany" });
    else plan.taken.push({ row, open, amount: amountOf(row.inputs) });
  }
  const comments = decision === "denied" ? ["comment", "denial_comment"] : ["comment"];
  plan.comment = plan.taken.some(({ row }) =>
    row.gate.needs.some((need) => comments.includes(need)),
  );
  return plan;
}

function alone(
  row: GateRow,
  { gate, can_decide, for_another }: OpenGate,
  decision: BatchDecision,
): Alone | null {
  if (!can_decide) return "notYours";
  if (gate.reason === OUTCOME_UNKNOWN) return "unknown";
  if (isRefused(gate.policy)) return "never";
  if (for_another) return "asksMore"; // it asks in whose place
  if (!gate.decisions.includes(decision)) return "notOffered";
  return row.gate.needs.some((need) => ASKED[decision].includes(need)) ? "asksMore" : null;
}

function isRefused(policy: object): boolean {
  return (policy as { batch?: string }).batch === "never";
}

/** What a verdict of a batch answers: a gate that changes is another one. */
export function keyOfItem(row: GateRow): string {
  return `${row.run_id} ${row.gate.step_id} ${row.gate.digest}`;
}

/** Load the gates with their calls, or why one is not there. */
export async function loadGates(
  rows: GateRow[],
  found: (key: string, gate: OpenGate | Alone) => void,
): Promise<void> {
  const waiting = [...rows];
  const load = async () => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      const path = `/process-runs/${row.run_id}/gates/${encodeURIComponent(row.gate.step_id)}`;
      const gate = await get<OpenGate>(path).catch(whyNot);
      const changed = typeof gate !== "string" && gate.gate.digest !== row.gate.digest;
      found(keyOfItem(row), changed ? "gone" : gate);
    }
  };
  await Promise.all(Array.from({ length: LOADED_AT_ONCE }, load));
}

function whyNot(error: unknown): Alone {
  return [404, 409].includes(toProblem(error).status) ? "gone" : "notLoaded";
}
