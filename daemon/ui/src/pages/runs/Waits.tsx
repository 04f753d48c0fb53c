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
            <span>
              Waits for the message <Label text={wait.message} />
            </span>
          </>
        )}
      </p>
      {wait.until !== null && (
        <p>
          <DueTime at={wait.until} />. Then the run goes on
          {wait.message !== null && " without the message"}.
        </p>
      )}
      {wait.message !== null && isAtLeast(role, "member") && (
        <button type="button" className="button" onClick={() => setAsking(true)}>
          Deliver the message
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
      title="Deliver the message"
      yes="Deliver"
      no="Close"
      busy={busy}
      onNo={onClose}
      onYes={() => void deliver()}
    >
      <p>
        The run goes on with the message <Label text={name} />.
      </p>
      <Field
        label="Content"
        rows={3}
        value={text}
        onChange={setText}
        hint="JSON, or one line per value: name = value. Later steps use it."
        error={error}
      />
      {problem !== null && <Note kind="bad" title={problem.message} />}
    </Dialog>
  );
}
