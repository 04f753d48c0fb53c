/** Verdicts at several gates: what is selected, what a decision covers, and what came of it. */

import { useId, useState } from "react";
import { newIdempotencyKey, post, toProblem } from "../../api/client";
import type { GateRow, VerdictResults } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Note } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { identityOf } from "../../text/identity";
import { asked } from "../../text/labels";
import { countOf } from "../../text/sentences";
import { batchOf, type BatchDecision } from "./batchVerdicts";

const SENT_AT_ONCE = 100;
const NAMED_MAX = 8;

export function Batch({ rows, onClear }: { rows: GateRow[]; onClear: () => void }) {
  const [asked, setAsked] = useState<BatchDecision | null>(null);
  const [told, setTold] = useState<Outcome | null>(null);
  if (rows.length === 0 && told === null) return null;
  return (
    <section className="batch" aria-label="Selected gates">
      {rows.length > 0 && (
        <>
          <strong role="status">{rows.length} selected</strong>
          <button type="button" className="button primary" onClick={() => setAsked("approved")}>
            Approve…
          </button>
          <button type="button" className="button" onClick={() => setAsked("denied")}>
            Deny…
          </button>
          <button type="button" className="link" onClick={onClear}>
            Clear
          </button>
        </>
      )}
      {told !== null && <BatchTold told={told} onClose={() => setTold(null)} />}
      {asked !== null && (
        <BatchDialog
          decision={asked}
          rows={rows}
          onNo={() => setAsked(null)}
          onDone={(outcome) => {
            setAsked(null);
            setTold(outcome);
            if (outcome.refused.length === 0) onClear();
          }}
        />
      )}
    </section>
  );
}

interface Outcome {
  decision: BatchDecision;
  done: number;
  /** What was refused, and why. */
  refused: string[];
}

function BatchTold({ told, onClose }: { told: Outcome; onClose: () => void }) {
  const what = told.decision === "approved" ? "approved" : "denied";
  return (
    <Note
      kind={told.refused.length > 0 ? "warn" : "good"}
      title={`${countOf(told.done, "gate")} ${what}${told.refused.length > 0 ? `, ${told.refused.length} refused` : ""}`}
    >
      {told.refused.length > 0 && (
        <ul className="items">
          {told.refused.slice(0, NAMED_MAX).map((line) => (
            <li key={line}>
              <Label text={line} maxLength={300} />
            </li>
          ))}
        </ul>
      )}
      <button type="button" className="link" onClick={onClose}>
        Dismiss
      </button>
    </Note>
  );
}

function BatchDialog({
  decision,
  rows,
  onNo,
  onDone,
}: {
  decision: BatchDecision;
  rows: GateRow[];
  onNo: () => void;
  onDone: (outcome: Outcome) => void;
}) {
  const id = useId();
  const [comment, setComment] = useState("");
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState("");
  const [key] = useState(newIdempotencyKey);
  const batch = batchOf(rows, decision);
  const word = decision === "approved" ? "Approve" : "Deny";
  const missing = batch.comment && comment.trim() === "";
  const send = async () => {
    if (batch.taken.length === 0 || missing) return;
    setBusy(true);
    try {
      onDone(await sendAll(batch.taken, decision, comment.trim(), key));
    } catch (error) {
      setFailed(toProblem(error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`${word} ${countOf(batch.taken.length, "gate")}?`}
      yes={`${word} ${batch.taken.length}`}
      danger={decision === "denied"}
      busy={busy || batch.taken.length === 0 || missing}
      onYes={() => void send()}
      onNo={onNo}
    >
      <ul className="items">
        {batch.taken.slice(0, NAMED_MAX).map((row) => (
          <li key={`${row.run_id} ${row.gate.step_id}`}>
            <Label text={asked(row.gate)} maxLength={90} />:{" "}
            <strong>
              <Label text={nameOf(row)} maxLength={80} />
            </strong>
          </li>
        ))}
        {batch.taken.length > NAMED_MAX && <li>and {batch.taken.length - NAMED_MAX} more</li>}
      </ul>
      {batch.live > 0 && decision === "approved" && (
        <p>
          <strong>{countOf(batch.live, "approval")} can lead to a live call.</strong>
        </p>
      )}
      {batch.left.length > 0 && (
        <p className="muted">
          {countOf(batch.left.length, "gate")} {batch.left.length === 1 ? "is" : "are"} left out:
          open {batch.left.length === 1 ? "it" : "them"} to decide, since more is asked there than
          this.
        </p>
      )}
      <div className="field">
        <label htmlFor={id}>
          Comment {!batch.comment && <span className="optional">(optional)</span>}
        </label>
        <textarea
          id={id}
          rows={2}
          value={comment}
          maxLength={2_000}
          onChange={(event) => setComment(event.target.value)}
        />
        <p className="hint">
          Each verdict counts for what you saw. A gate that has changed meanwhile refuses it.
        </p>
      </div>
      {failed !== "" && <p role="alert">{failed}</p>}
    </Dialog>
  );
}

function nameOf(row: GateRow): string {
  return identityOf(row.business_key, row.inputs)?.value ?? row.run_id;
}

/** Send the verdicts in parts; a repeat under the same key decides nothing twice. */
async function sendAll(
  rows: GateRow[],
  decision: BatchDecision,
  comment: string,
  key: string,
): Promise<Outcome> {
  const outcome: Outcome = { decision, done: 0, refused: [] };
  for (let from = 0; from < rows.length; from += SENT_AT_ONCE) {
    const part = rows.slice(from, from + SENT_AT_ONCE);
    const verdicts = part.map((row) => ({
      run_id: row.run_id,
      gate: row.gate.step_id,
      decision,
      digest: row.gate.digest,
      ...(comment === "" ? {} : { comment }),
    }));
    const { results } = await post<VerdictResults>(
      "/gates/verdicts",
      { verdicts },
      `${key}-${from}`,
    );
    results.forEach((result, index) => {
      const row = part[index];
      if (result.status < 400) outcome.done++;
      else if (row !== undefined)
        outcome.refused.push(`${nameOf(row)}: ${String(result.problem?.["detail"] ?? "refused")}`);
    });
  }
  return outcome;
}
