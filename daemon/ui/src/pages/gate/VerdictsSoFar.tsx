/** The verdicts of a gate that is still open, and taking back one's own. */

import { useState } from "react";
import { type Problem, send, toProblem } from "../../api/client";
import type { Gate, Run } from "../../api/types";
import { Note } from "../../components/Feedback";
import { PersonName } from "../../components/record/PersonName";
import { Text } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { ValueTable } from "../../components/ValueTable";
import { useAccount } from "../../state/session";
import { countText } from "../../text/policy";
import { describeDecision } from "../../text/sentences";
import { gate as t } from "../../text/en/gate";

export function VerdictsSoFar({
  run,
  gate,
  solo,
  onWithdrawn,
}: {
  run: Run;
  gate: Gate;
  solo: boolean;
  onWithdrawn: (run: Run) => void;
}) {
  const { user } = useAccount();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const own = gate.verdicts.some((verdict) => verdict.by === user.email);
  const withdraw = async () => {
    setBusy(true);
    setProblem(null);
    const path = `/process-runs/${run.id}/gates/${encodeURIComponent(gate.step_id)}/verdict`;
    try {
      onWithdrawn((await send<Run>("DELETE", path)).value);
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
  };
  return (
    <div aria-live="polite">
      {gate.verdicts.length > 0 && (
        <section className="card" aria-label={t("soFar")}>
          <h2>{t("soFar")}</h2>
          <p className="gap">
            {own && `${t("yourDecisionCounts")} `}
            {countText(gate, solo)}
          </p>
          <ul className="proposals">
            {gate.verdicts.map((verdict) => (
              <li key={verdict.by}>
                <p>
                  <strong>
                    {verdict.by === user.email ? (
                      t("you")
                    ) : (
                      <PersonName by={verdict.by} kind={verdict.by_kind} />
                    )}
                  </strong>{" "}
                  {describeDecision(verdict.decision, undefined, verdict.by === user.email)}
                  {verdict.on_behalf_of !== null && (
                    <> {t("onBehalfOf", { giver: <PersonName by={verdict.on_behalf_of} /> })}</>
                  )}
                  {verdict.code !== null && <> ({verdict.code})</>}
                </p>
                {verdict.comment !== null && (
                  <blockquote>
                    <Text text={verdict.comment} />
                  </blockquote>
                )}
                {verdict.form !== null && <ValueTable values={verdict.form} />}
                <p className="muted small">
                  <TimeAgo at={verdict.at} />
                </p>
              </li>
            ))}
          </ul>
          {own && (
            <button
              type="button"
              className="button"
              disabled={busy}
              onClick={() => void withdraw()}
            >
              {t("takeBack")}
            </button>
          )}
          {problem !== null && <Note kind="bad" title={problem.message} />}
        </section>
      )}
    </div>
  );
}
