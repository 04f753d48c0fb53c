/** Make a run that ended in shadow again, live; and the links between both runs. */

import { useState } from "react";
import { newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import type { RetainedRun, Run } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { linkTo, navigate } from "../../state/router";
import { useAccount } from "../../state/session";
import { isAtLeast } from "../../text/labels";
import { runs as t } from "../../text/en/runs";

export function PromoteRun({ run }: { run: RetainedRun }) {
  const { role } = useAccount();
  const [asking, setAsking] = useState(false);
  if (!isPromotable(run) || !isAtLeast(role, "member")) return null;
  return (
    <>
      <button type="button" className="button" onClick={() => setAsking(true)}>
        {t("promote")}
      </button>
      {asking && <PromoteDialog run={run} onClose={() => setAsking(false)} />}
    </>
  );
}

function isPromotable(run: RetainedRun): boolean {
  return (
    run.status === "completed" &&
    run.archived == null &&
    !run.redactions?.length &&
    run.promoted_to === null &&
    run.trace.every((visit) => visit.request?.mode !== "live")
  );
}

function PromoteDialog({ run, onClose }: { run: RetainedRun; onClose: () => void }) {
  const [key] = useState(newIdempotencyKey);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const promote = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const made = await post<Run>(`/process-runs/${run.id}/promote`, {}, key);
      navigate(linkTo("runs", made.id));
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={t("promoteAsk")}
      yes={t("promote")}
      busy={busy}
      onNo={onClose}
      onYes={() => void promote()}
    >
      <p>{t("promoteHint", { version: String(run.template.version) })}</p>
      <p>{t("promoteDifferent")}</p>
      <p>{t("promoteOnce")}</p>
      {problem !== null && <p role="alert">{problem.message}</p>}
    </Dialog>
  );
}

export function PromotionLinks({ run }: { run: Run }) {
  return (
    <>
      {run.promoted_from !== null && (
        <p className="muted">{t("promotedFrom", { run: <RunLink id={run.promoted_from} /> })}</p>
      )}
      {run.promoted_to !== null && (
        <p className="muted">{t("promotedTo", { run: <RunLink id={run.promoted_to} /> })}</p>
      )}
    </>
  );
}

function RunLink({ id }: { id: string }) {
  return (
    <a href={linkTo("runs", id)}>
      <code>{id}</code>
    </a>
  );
}
