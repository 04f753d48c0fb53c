/** Which of the selected gates one decision can close without anything else. */

import type { GateRow } from "../../api/types";

export type BatchDecision = "approved" | "denied";

interface BatchPlan {
  taken: GateRow[];
  left: GateRow[];
  /** How many of those taken can lead to a live call. */
  live: number;
  /** Whether a comment is asked for. */
  comment: boolean;
}

const ASKED: Record<BatchDecision, string[]> = {
  approved: ["form", "inputs"],
  denied: ["denial_code", "inputs"],
};

export function batchOf(rows: GateRow[], decision: BatchDecision): BatchPlan {
  const fits = ({ can_decide, gate }: GateRow) =>
    can_decide &&
    gate.decisions.includes(decision) &&
    !gate.needs.some((need) => ASKED[decision].includes(need));
  const taken = rows.filter(fits);
  const comments = decision === "denied" ? ["comment", "denial_comment"] : ["comment"];
  return {
    taken,
    left: rows.filter((row) => !fits(row)),
    live: taken.filter((row) => row.gate.mode === "live").length,
    comment: taken.some(({ gate }) => gate.needs.some((need) => comments.includes(need))),
  };
}
