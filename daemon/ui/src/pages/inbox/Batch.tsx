/** Verdicts at several gates: what is selected, what a decision covers, and what came of it. */

import { useId, useState } from "react";
import { newIdempotencyKey, post, toProblem } from "../../api/client";
import type { GateRow, VerdictResults } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Note } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { identityOf } from "../../text/identity";
import { asked } from "../../text/labels";
import { common } from "../../text/en/common";
import { batchOf, type BatchDecision } from "./batchVerdicts";
import { inbox as t } from "../../text/en/inbox";

const SENT_AT_ONCE = 100;
const NAMED_MAX = 8;

export function Batch({ rows, onClear }: { rows: GateRow[]; onClear: () => void }) {
  const [asked, setAsked] = useState<BatchDecision | null>(null);
  const [told, setTold] = useState<Outcome | null>(null);
  if (rows.length === 0 && told === null) return null;
  return (
    <section className="batch" aria-label={t("selectedGates")}>
      {rows.length > 0 && (
        <>
          <strong role="status">{t("selected", { count: rows.length })}</strong>
          <button type="button" className="button primary" onClick={() => setAsked("approved")}>
            {t("approveDots")}
          </button>
          <button type="button" className="button" onClick={() => setAsked("denied")}>
            {t("denyDots")}
          </button>
          <button type="button" className="link" onClick={onClear}>
            {t("clear")}
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
  const count = told.done;
  const done = told.decision === "approved" ? t("approved", { count }) : t("denied", { count });
  const refused = told.refused.length;
  return (
    <Note
      kind={refused > 0 ? "warn" : "good"}
      title={refused > 0 ? t("someRefused", { done, refused }) : done}
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
        {t("dismiss")}
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
  const count = batch.taken.length;
  const approves = decision === "approved";
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
      title={approves ? t("approveThese", { count }) : t("denyThese", { count })}
      yes={t(approves ? "approveCount" : "denyCount", { count })}
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
        {batch.taken.length > NAMED_MAX && (
          <li>{common("more", { count: batch.taken.length - NAMED_MAX })}</li>
        )}
      </ul>
      {batch.live > 0 && decision === "approved" && (
        <p>
          <strong>{t("liveApprovals", { count: batch.live })}</strong>
        </p>
      )}
      {batch.left.length > 0 && (
        <p className="muted">{t("leftOut", { count: batch.left.length })}</p>
      )}
      <div className="field">
        <label htmlFor={id}>
          {t("comment")} {!batch.comment && <span className="optional">{common("optional")}</span>}
        </label>
        <textarea
          id={id}
          rows={2}
          value={comment}
          maxLength={2_000}
          onChange={(event) => setComment(event.target.value)}
        />
        <p className="hint">{t("batchHint")}</p>
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
        outcome.refused.push(
          `${nameOf(row)}: ${String(result.problem?.["detail"] ?? t("refused"))}`,
        );
    });
  }
  return outcome;
}
