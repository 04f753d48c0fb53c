/** What one may do with a run: retry it, or cancel it with or without undoing what it did. */

import { useState } from "react";
import { newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import type { Run } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Check, Field } from "../../components/Field";
import { useAccount } from "../../state/session";
import { isAtLeast } from "../../text/labels";
import { runs as t } from "../../text/en/runs";

export function RunActions({ run, onChanged }: { run: Run; onChanged: (run: Run) => void }) {
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const [undo, setUndo] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const act = async (path: string, body: unknown) => {
    setBusy(true);
    setProblem(null);
    try {
      onChanged(await post<Run>(`/process-runs/${run.id}/${path}`, body, newIdempotencyKey()));
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
    setAsking(false);
  };
  const { role } = useAccount();
  const open = run.status !== "completed" && run.status !== "cancelled";
  return (
    <>
      {run.status === "failed" && isAtLeast(role, "member") && (
        <button
          type="button"
          className="button primary"
          disabled={busy}
          onClick={() => void act("retry", {})}
        >
          {t("retry")}
        </button>
      )}
      {open && isAtLeast(role, "manager") && (
        <button type="button" className="button" disabled={busy} onClick={() => setAsking(true)}>
          {t("cancelRun")}
        </button>
      )}
      {problem !== null && <p role="alert">{problem.message}</p>}
      {asking && (
        <Dialog
          title={t("cancelAsk")}
          yes={t("cancelRun")}
          no={t("keepRunning")}
          danger
          busy={busy}
          onNo={() => setAsking(false)}
          onYes={() =>
            void act("cancel", {
              ...(reason.trim() === "" ? {} : { reason }),
              ...(undo ? { compensate: true } : {}),
            })
          }
        >
          <p>{t("cancelHint")}</p>
          <Check label={t("undo")} hint={t("undoHint")} checked={undo} onChange={setUndo} />
          <Field
            label={t("reason")}
            rows={2}
            value={reason}
            onChange={setReason}
            hint={t("reasonHint")}
          />
        </Dialog>
      )}
    </>
  );
}
