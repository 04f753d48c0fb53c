/** What a run waits for: a time, or a message that can be delivered here. */

import { useState } from "react";
import { newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import type { Run, TraceEntry } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { DueTime } from "../../components/DueTime";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";
import { isAtLeast } from "../../text/labels";
import { parseToolOutput } from "../gate/toolOutput";
import { common } from "../../text/en/common";
import { runs as t } from "../../text/en/runs";

interface Props {
  run: Run;
  label: (step: string) => string;
  onChanged: (run: Run) => void;
}

export function Waits({ run, label, onChanged }: Props) {
  const waiting = run.trace.filter((visit) => visit.wait !== null && visit.ended_at === null);
  return waiting.map((visit) => (
    <Wait
      key={`${visit.step_id} ${visit.visit}`}
      run={run}
      visit={visit}
      label={label(visit.step_id)}
      onChanged={onChanged}
    />
  ));
}

function Wait({
  run,
  visit,
  label,
  onChanged,
}: {
  run: Run;
  visit: TraceEntry;
  label: string;
  onChanged: (run: Run) => void;
}) {
  const { role } = useAccount();
  const [asking, setAsking] = useState(false);
  const { wait } = visit;
  if (wait === null) return null;
  return (
    <div className="card wait">
      <p>
        <strong>
          <Label text={label} />
        </strong>
        {wait.message !== null && (
          <>
            {": "}
            <span>{t("waitsMessage", { message: <Label text={wait.message} /> })}</span>
          </>
        )}
      </p>
      {wait.until !== null && (
        <p>
          {t(wait.message === null ? "thenGoesOn" : "thenGoesOnWithout", {
            due: <DueTime at={wait.until} />,
          })}
        </p>
      )}
      {wait.message !== null && isAtLeast(role, "member") && (
        <button type="button" className="button" onClick={() => setAsking(true)}>
          {t("deliver")}
        </button>
      )}
      {asking && wait.message !== null && (
        <DeliverDialog
          run={run}
          name={wait.message}
          onClose={() => setAsking(false)}
          onChanged={onChanged}
        />
      )}
    </div>
  );
}

function DeliverDialog({
  run,
  name,
  onClose,
  onChanged,
}: {
  run: Run;
  name: string;
  onClose: () => void;
  onChanged: (run: Run) => void;
}) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [key] = useState(newIdempotencyKey);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { value: payload, error } = parseToolOutput(text);
  const deliver = async () => {
    if (error !== undefined) return;
    setBusy(true);
    setProblem(null);
    try {
      const body = { name, ...(payload === undefined ? {} : { payload }) };
      onChanged(await post<Run>(`/process-runs/${run.id}/messages`, body, key));
      onClose();
    } catch (failed) {
      setProblem(toProblem(failed));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={t("deliver")}
      yes={t("deliverIt")}
      no={common("close")}
      busy={busy}
      onNo={onClose}
      onYes={() => void deliver()}
    >
      <p>{t("goesOnWith", { name: <Label text={name} /> })}</p>
      <Field
        label={t("content")}
        rows={3}
        value={text}
        onChange={setText}
        hint={t("contentHint")}
        error={error}
      />
      {problem !== null && <Note kind="bad" title={problem.message} />}
    </Dialog>
  );
}
