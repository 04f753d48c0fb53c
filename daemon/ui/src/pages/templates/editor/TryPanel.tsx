/** Try the draft: begin a run in shadow, decide at its gates, and let time pass. */

import { useState } from "react";
import { prettyPrint } from "../../../api/json";
import type { Gate, TryAct } from "../../../api/types";
import { Note } from "../../../components/Feedback";
import { Check, Field } from "../../../components/Field";
import { Label, Text } from "../../../components/Text";
import { Value } from "../../../components/ValueTable";
import { decisionLabel, RUN_STATUS_LABELS, STEP_STATE_LABELS } from "../../../text/labels";
import { gateReason } from "../../../text/sentences";
import { type Draft, stepOf } from "./draft/document";
import type { Rehearsal } from "./draft/useRehearsal";

const ROWS = 5;
const EMPTY = new Set(["null", "{}"]);
const PEOPLE = [
  { value: "", name: "me" },
  { value: "colleague@example.test", name: "a colleague" },
  { value: "another@example.test", name: "another colleague" },
];

interface Props {
  draft: Draft;
  valid: boolean;
  rehearsal: Rehearsal;
  onChoose: (id: string) => void;
}

export function TryPanel({ draft, valid, rehearsal, onChoose }: Props) {
  const [text, setText] = useState(() => prettyPrint(draft["example"] ?? {}));
  const [stops, setStops] = useState(false);
  const { tried, problem } = rehearsal;
  const inputs = objectOf(text);
  return (
    <section className="card try-panel" aria-label="Try it">
      <h2>Try it</h2>
      <p className="muted">A shadow run of the draft: no call is sent and nothing is stored.</p>
      <Field
        label="Inputs"
        rows={ROWS}
        value={text}
        onChange={setText}
        error={inputs === null ? "must be a JSON object" : undefined}
        required
      />
      <Check
        label="Stop at every step"
        hint="Each step waits until you approve it."
        checked={stops}
        onChange={setStops}
      />
      {!valid && <Note kind="info" title="Fix the findings first." />}
      <div className="actions">
        <button
          type="button"
          className="button primary"
          disabled={!valid || inputs === null}
          onClick={() => inputs !== null && rehearsal.begin(inputs, stops)}
        >
          {tried === null ? "Start" : "Start again"}
        </button>
        {rehearsal.back !== null && (
          <button type="button" className="button" onClick={rehearsal.back}>
            Back one step
          </button>
        )}
      </div>
      {problem !== null && <Note kind="bad" title={problem.message} />}
      {tried !== null && (
        <>
          <p role="status">
            <strong>{RUN_STATUS_LABELS[tried.run.status]}</strong>
            {tried.run.outcome !== null && (
              <>
                {": "}
                <Label text={tried.run.outcome} />
              </>
            )}
          </p>
          {tried.refused !== null && <Note kind="warn" title={tried.refused} />}
          {tried.run.gates.map((gate) => (
            <OpenGate
              key={`${gate.step_id} ${gate.visit}`}
              gate={gate}
              label={(step) => stepOf(draft, step)?.label ?? step}
              onAct={rehearsal.act}
            />
          ))}
          <Waiting rehearsal={rehearsal} />
          <ol className="steps-list">
            {tried.run.trace.map((visit) => (
              <li key={`${visit.step_id} ${visit.visit}`}>
                <button type="button" className="link" onClick={() => onChoose(visit.step_id)}>
                  <Label text={stepOf(draft, visit.step_id)?.label ?? visit.step_id} />
                </button>{" "}
                <small className="muted">
                  {STEP_STATE_LABELS[visit.status]}
                  {visit.reason !== null && (
                    <>
                      {", "}
                      <Text text={visit.reason} />
                    </>
                  )}
                </small>
                {visit.request !== null && !EMPTY.has(prettyPrint(visit.output)) && (
                  <div>
                    <Value value={visit.output} />
                  </div>
                )}
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function OpenGate({
  gate,
  label,
  onAct,
}: {
  gate: Gate;
  label: (step: string) => string;
  onAct: (act: TryAct) => void;
}) {
  const [by, setBy] = useState("");
  const [comment, setComment] = useState("");
  const [code, setCode] = useState("");
  const [form, setForm] = useState("");
  const codes = gate.policy.denial_codes;
  const asksForm = gate.policy.form !== null;
  const filled = form.trim() === "" ? undefined : objectOf(form);
  const decide = (decision: string) =>
    onAct({
      gate: gate.step_id,
      decision,
      ...(by === "" ? {} : { by }),
      ...(comment === "" ? {} : { comment }),
      ...(code === "" || decision !== "denied" ? {} : { code }),
      ...(filled === undefined || filled === null || decision === "denied" ? {} : { form: filled }),
    });
  return (
    <section className="way" aria-label={`Gate ${gate.step_id}`}>
      <h3>
        <Label text={gate.question ?? gate.label} maxLength={300} />
      </h3>
      <p className="muted">
        <Text text={gateReason(gate, label)} />
      </p>
      <Field label="Decide as" value={by} options={PEOPLE} onChange={setBy} required />
      <Field label="Comment" value={comment} onChange={setComment} />
      {codes.length > 0 && (
        <Field
          label="Denial code"
          value={code}
          options={["", ...codes].map((value) => ({ value, name: value || "none" }))}
          onChange={setCode}
        />
      )}
      {asksForm && (
        <Field
          label="Form"
          rows={ROWS}
          value={form}
          onChange={setForm}
          error={filled === null ? "must be a JSON object" : undefined}
        />
      )}
      <div className="actions">
        {gate.decisions.map((decision) => (
          <button type="button" className="button" key={decision} onClick={() => decide(decision)}>
            {decisionLabel(decision)}
          </button>
        ))}
      </div>
    </section>
  );
}

/** What may come without a person: the time of a wait or a deadline, or a message. */
function Waiting({ rehearsal }: { rehearsal: Rehearsal }) {
  const run = rehearsal.tried?.run;
  if (run === undefined) return null;
  const messages = run.trace.flatMap((visit) =>
    visit.status === "waiting" && visit.wait?.message ? [visit.wait.message] : [],
  );
  const timed =
    run.trace.some((visit) => visit.status === "waiting" && visit.wait?.until) ||
    run.gates.some((gate) => gate.due_at !== null);
  return (
    <div className="actions">
      {timed && (
        <button type="button" className="button" onClick={() => rehearsal.act({})}>
          Skip the waiting time
        </button>
      )}
      {messages.map((message) => (
        <button
          type="button"
          className="button"
          key={message}
          onClick={() => rehearsal.act({ message })}
        >
          Deliver the message {message}
        </button>
      ))}
    </div>
  );
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const whole = typeof value === "object" && value !== null && !Array.isArray(value);
    return whole ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
