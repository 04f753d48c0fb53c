/** Try the draft: begin a run in shadow, decide at its gates, and let time pass. */

import { useState } from "react";
import { isObject, parse, prettyPrint } from "../../../api/json";
import type { Canvas, Gate, TryAct } from "../../../api/types";
import { ClockBars } from "../../../components/clocks/ClockBars";
import { Note } from "../../../components/Feedback";
import { Check, Field } from "../../../components/Field";
import { Label, Text } from "../../../components/Text";
import { Value } from "../../../components/ValueTable";
import { decisionLabel, statusLabel, stateLabel } from "../../../text/labels";
import { gateReason } from "../../../text/sentences";
import { type Draft, stepOf } from "./draft/document";
import type { Rehearsal } from "./draft/useRehearsal";
import { common } from "../../../text/en/common";
import { editor as t } from "../../../text/en/editor";

const ROWS = 5;
const EMPTY = new Set(["null", "{}"]);
const PEOPLE = [
  ["", "me"],
  ["colleague@example.test", "aColleague"],
  ["another@example.test", "anotherColleague"],
] as const;

interface Props {
  draft: Draft;
  canvas: Canvas | null;
  valid: boolean;
  rehearsal: Rehearsal;
  onChoose: (id: string) => void;
}

export function TryPanel({ draft, canvas, valid, rehearsal, onChoose }: Props) {
  const [text, setText] = useState(() => prettyPrint(draft["example"] ?? {}));
  const [stops, setStops] = useState(false);
  const { tried, problem } = rehearsal;
  const inputs = objectOf(text);
  return (
    <section className="card try-panel" aria-label={t("tryIt")}>
      <h2>{t("tryIt")}</h2>
      <p className="muted">{t("tryHint")}</p>
      <Field
        label={t("inputs")}
        rows={ROWS}
        value={text}
        onChange={setText}
        error={inputs === null ? common("mustBeJsonObject") : undefined}
        required
      />
      <Check label={t("stopEvery")} hint={t("stopHint")} checked={stops} onChange={setStops} />
      {!valid && <Note kind="info" title={t("fixFirst")} />}
      <div className="actions">
        <button
          type="button"
          className="button primary"
          disabled={!valid || inputs === null}
          onClick={() => inputs !== null && rehearsal.begin(inputs, stops)}
        >
          {t(tried === null ? "start" : "startAgain")}
        </button>
        {rehearsal.back !== null && (
          <button type="button" className="button" onClick={rehearsal.back}>
            {t("backOne")}
          </button>
        )}
      </div>
      {problem !== null && <Note kind="bad" title={problem.message} />}
      {tried !== null && (
        <>
          <p role="status">
            <strong>{statusLabel(tried.run.status)}</strong>
            {tried.run.outcome !== null && (
              <>
                {": "}
                <Label text={tried.run.outcome} />
              </>
            )}
          </p>
          <ClockBars run={tried.run} canvas={canvas} at={tried.at} />
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
                  {stateLabel(visit.status)}
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
    <section className="way" aria-label={t("gateIs", { step: gate.step_id })}>
      <h3>
        <Label text={gate.question ?? gate.label} maxLength={300} />
      </h3>
      <p className="muted">
        <Text text={gateReason(gate, label)} />
      </p>
      <Field
        label={t("decideAs")}
        value={by}
        options={PEOPLE.map(([value, who]) => ({ value, name: t(who) }))}
        onChange={setBy}
        required
      />
      <Field label={t("comment")} value={comment} onChange={setComment} />
      {codes.length > 0 && (
        <Field
          label={t("denialCode")}
          value={code}
          options={["", ...codes].map((value) => ({ value, name: value || common("notSet") }))}
          onChange={setCode}
        />
      )}
      {asksForm && (
        <Field
          label={t("form")}
          rows={ROWS}
          value={form}
          onChange={setForm}
          error={filled === null ? common("mustBeJsonObject") : undefined}
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
          {t("skipTime")}
        </button>
      )}
      {messages.map((message) => (
        <button
          type="button"
          className="button"
          key={message}
          onClick={() => rehearsal.act({ message })}
        >
          {t("deliver", { message })}
        </button>
      ))}
    </div>
  );
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value = parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
