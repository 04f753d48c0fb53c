/** The switch that stops agents: all of them, or one. */

import { useState } from "react";
import { type Problem, send, toProblem } from "../../api/client";
import type { ActionPauses } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Note } from "../../components/Feedback";
import { FormProblem } from "../../components/FieldErrors";
import { Field } from "../../components/Field";
import { PersonName } from "../../components/record/PersonName";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useAccount } from "../../state/session";
import { isAtLeast } from "../../text/labels";
import { actions as t } from "../../text/en/actions";
import type { RulesLoaded } from "./useRules";

type Stop = NonNullable<ActionPauses["all"]>;

export function Stops({ rules }: { rules: RulesLoaded }) {
  const may = isAtLeast(useAccount().role, "manager");
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  if (rules.value === null) return null;
  const { all, agents } = rules.value.rules.paused;
  const lift = (agent: string | null) => {
    const query = agent === null ? "" : `?agent=${encodeURIComponent(agent)}`;
    send("DELETE", `${rules.path}/pause${query}`).then(
      () => {
        setProblem(null);
        rules.reload();
      },
      (error: unknown) => setProblem(toProblem(error)),
    );
  };
  const stops: [string | null, Stop][] = [
    ...(all === null ? [] : [[null, all] as [null, Stop]]),
    ...Object.entries(agents),
  ];
  return (
    <section className="stops" aria-label={t("stopped")}>
      <FormProblem problem={problem} />
      {stops.map(([agent, stop]) => (
        <Note
          key={agent ?? ""}
          kind="warn"
          title={agent === null ? t("allStopped") : t("agentStopped", { agent })}
        >
          <p>
            <Label text={stop.reason} maxLength={500} />
          </p>
          <p className="muted small">
            {t("stoppedBy", { when: <TimeAgo at={stop.at} />, who: <PersonName by={stop.by} /> })}
          </p>
          {may && (
            <button type="button" className="button" onClick={() => lift(agent)}>
              {agent === null ? t("liftAll") : t("lift", { agent })}
            </button>
          )}
        </Note>
      ))}
      {may && (
        <p className="actions">
          <button type="button" className="button danger-quiet" onClick={() => setAsking(true)}>
            {t("stop")}
          </button>
        </p>
      )}
      {asking && (
        <StopDialog
          path={rules.path}
          onDone={() => {
            setAsking(false);
            rules.reload();
          }}
          onNo={() => setAsking(false)}
        />
      )}
    </section>
  );
}

function StopDialog({
  path,
  onDone,
  onNo,
}: {
  path: string;
  onDone: () => void;
  onNo: () => void;
}) {
  const [agent, setAgent] = useState("");
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const stop = () => {
    setBusy(true);
    const named = agent.trim() === "" ? {} : { agent: agent.trim() };
    send("PUT", `${path}/pause`, { body: { ...named, reason: reason.trim() } }).then(
      onDone,
      (error: unknown) => {
        setBusy(false);
        setProblem(toProblem(error));
      },
    );
  };
  return (
    <Dialog
      title={t("stopAsk")}
      yes={agent.trim() === "" ? t("stopAll") : t("stopOne")}
      danger
      busy={busy}
      ready={reason.trim() !== ""}
      onYes={stop}
      onNo={onNo}
    >
      <p>{t("stopHint")}</p>
      <FormProblem problem={problem} />
      <Field label={t("stopAgent")} hint={t("stopAgentHint")} value={agent} onChange={setAgent} />
      <Field
        label={t("reason")}
        hint={t("reasonHint")}
        value={reason}
        onChange={setReason}
        required
      />
    </Dialog>
  );
}
