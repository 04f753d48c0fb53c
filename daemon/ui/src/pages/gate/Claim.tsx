/** Who looks at a gate, so that two people do not do the same work; everybody may still decide. */

import { useState } from "react";
import { newIdempotencyKey, post, type Problem, send, toProblem } from "../../api/client";
import type { Gate, Run } from "../../api/types";
import { Note } from "../../components/Feedback";
import { PersonName } from "../../components/record/PersonName";
import { useAccount } from "../../state/session";
import type { Standing } from "./useStanding";
import { gate as t } from "../../text/en/gate";

export function Claim({ run, gate, standing }: { run: Run; gate: Gate; standing: Standing }) {
  const { user } = useAccount();
  const [problem, setProblem] = useState<Problem | null>(null);
  const { claimedBy } = standing;
  if (!standing.canDecide) return null;
  const path = `/process-runs/${run.id}/gates/${encodeURIComponent(gate.step_id)}/claim`;
  const act = (doing: Promise<unknown>) => {
    setProblem(null);
    doing.then(standing.reload, (error: unknown) => setProblem(toProblem(error)));
  };
  return (
    <p className="claim small">
      {claimedBy !== null && (
        <>
          {claimedBy === user.email
            ? t("youLook")
            : t("looks", { who: <PersonName by={claimedBy} /> })}{" "}
        </>
      )}
      {claimedBy === user.email ? (
        <button type="button" className="button" onClick={() => act(send("DELETE", path))}>
          {t("leaveToOthers")}
        </button>
      ) : (
        <button
          type="button"
          className="button"
          onClick={() => act(post(path, {}, newIdempotencyKey()))}
        >
          {t("claim")}
        </button>
      )}
      {problem !== null && <Note kind="bad" title={problem.message} />}
    </p>
  );
}
