/**
 * The decision form. It sends the digest of the gate that was shown, so that a changed gate refuses
 * the decision.
 */

import { type FormEvent, useId, useMemo, useRef, useState } from "react";
import { newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import { stringify } from "../../api/json";
import { getTemplate } from "../../api/resources";
import type { Canvas, Gate, GraphNode, Run, Values } from "../../api/types";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { SchemaFields } from "../../components/SchemaFields";
import type { FieldTexts } from "../../components/schemaValues";
import { Label } from "../../components/Text";
import { useNames } from "../../state/members";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { decisionLabel, formatTime, mayDecide } from "../../text/labels";
import { actorName, describeDecision, toSentence } from "../../text/sentences";
import { DecisionPreview } from "./DecisionPreview";
import type { SentDecision } from "./DecisionResult";
import type { GateSnapshot } from "./differences";
import { acceptsInputs, type MissingInputs, missingInputs } from "./missingInputs";
import { previewDecision } from "./preview";
import { parseToolOutput } from "./toolOutput";
import { ToolOutputField } from "./ToolOutputField";
import { WhoDecides } from "./WhoDecides";

interface Props {
  shown: GateSnapshot;
  canvas: Canvas | null;
  /** Whether the graph of this run no longer exists. */
  unknown: boolean;
  mode: (node: GraphNode) => "live" | "shadow";
  blocked: boolean;
  /** Called before the response: the event stream may report the decision first. */
  onSent: (given: SentDecision) => void;
  onAccepted: (run: Run) => void;
  onRefused: (unsure: boolean) => void;
}

export function DecisionForm({
  shown,
  canvas,
  unknown,
  mode,
  blocked,
  onSent,
  onAccepted,
  onRefused,
}: Props) {
  const { run, gate } = shown;
  const { role } = useAccount();
  const [decision, setDecision] = useState("");
  const [comment, setComment] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [nothingChosen, setNothingChosen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState("");
  const [texts, setTexts] = useState<FieldTexts>({});
  const [errors, setErrors] = useState<Map<string, string>>(new Map());
  const missing = useMissingInputs(run, gate);
  const sent = useRef<{ body: string; key: string } | null>(null);
  const name = useId();
  const [shownDigest, setShownDigest] = useState(gate.digest);
  if (shownDigest !== gate.digest) {
    // The gate has changed: discard the choice.
    setShownDigest(gate.digest);
    setDecision("");
    setProblem(null);
    setErrors(new Map());
  }

  async function decide(event: FormEvent) {
    event.preventDefault();
    if (busy || blocked) return;
    if (decision === "") return setNothingChosen(true);
    const more = extraFields(decision, answer, missing, texts);
    setProblem(null);
    setErrors(more.errors);
    if (more.errors.size > 0) return;
    setBusy(true);
    const body = {
      gate: gate.step_id,
      decision,
      digest: gate.digest,
      ...(comment.trim() === "" ? {} : { comment }),
      ...more.body,
    };
    const text = stringify(body);
    // The same decision keeps its key, so that a repeated request counts once.
    if (sent.current?.body !== text) sent.current = { body: text, key: newIdempotencyKey() };
    onSent({ gate, decision });
    try {
      onAccepted(await post<Run>(`/process-runs/${run.id}/resume`, body, sent.current.key));
    } catch (error) {
      const found = toProblem(error);
      if (!found.outcomeUnknown) sent.current = null;
      setProblem(found);
      setErrors(found.fields);
      setBusy(false);
      onRefused(found.outcomeUnknown);
    }
  }

  if (!mayDecide(role, gate.role)) return <WhoDecides gate={gate} comment={comment} />;
  const word = decision === "" ? "Choose a decision above" : decisionLabel(decision);
  return (
    <form
      className="card decide"
      id="decide"
      tabIndex={-1}
      onSubmit={(event) => void decide(event)}
      aria-labelledby={`${name}-title`}
    >
      <h2 id={`${name}-title`}>Your decision</h2>
      <WhoDecides gate={gate} comment={comment} />
      <fieldset disabled={blocked || busy} className="choices">
        <legend className="visually-hidden">Your decision</legend>
        {gate.decisions.map((text) => (
          <label key={text} className={`choice choice-${text === "denied" ? "deny" : "go"}`}>
            <input
              type="radio"
              name={name}
              value={text}
              checked={decision === text}
              onChange={() => {
                setDecision(text);
                setNothingChosen(false);
              }}
            />
            <span className="choice-word">
              <Label text={decisionLabel(text)} />
            </span>
            {canvas !== null && (
              <DecisionPreview
                steps={previewDecision(canvas, gate.step_id, text, {
                  mode,
                  everyStepWaits: !run.auto_resolve,
                })}
              />
            )}
          </label>
        ))}
      </fieldset>
      {unknown && (
        <p className="muted small">
          The next steps are unknown: the template of this run no longer exists.
        </p>
      )}
      {decision === "done" && (
        <ToolOutputField
          text={answer}
          onChange={setAnswer}
          error={errors.get("/output")}
          disabled={blocked || busy}
        />
      )}
      {missing !== null && acceptsInputs(decision) && (
        <fieldset className="missing-inputs" disabled={blocked || busy}>
          <legend>Missing inputs</legend>
          <p className="muted small">
            The run needs these inputs. They are sent with your decision.
          </p>
          <SchemaFields
            schema={missing.schema}
            texts={texts}
            onChange={setTexts}
            errors={missing.fieldErrors(errors)}
          />
        </fieldset>
      )}
      <Field
        label="Comment"
        rows={2}
        value={comment}
        onChange={setComment}
        hint="Recorded with your decision in the history"
        disabled={blocked || busy}
      />
      {nothingChosen && <Note kind="bad" title="Choose a decision first." />}
      {errors.size > 0 && (
        <Note kind="bad" title="Some fields are missing or invalid; see above." />
      )}
      {problem !== null && !blocked && errors.size === 0 && <DecisionRefused problem={problem} />}
      <button
        type="submit"
        className={`button wide ${decision === "" ? "" : decision === "denied" ? "danger" : "primary"}`}
        disabled={blocked || busy}
      >
        {busy ? (
          "Sending your decision…"
        ) : decision === "" ? (
          word
        ) : (
          <span>
            Confirm: <Label text={word} />
          </span>
        )}
      </button>
    </form>
  );
}

/** The missing inputs of a gate; null if there are none. */
function useMissingInputs(run: Run, gate: Gate): MissingInputs | null {
  const pointers = gate.missing;
  const { value: detail } = useLoad(`template ${run.vertical}`, () => getTemplate(run.vertical));
  const key = JSON.stringify(pointers);
  return useMemo(
    () =>
      pointers.length === 0
        ? null
        : missingInputs(pointers, detail?.inputs_schema ?? {}, gate.kind === "task"),
    [key, detail, gate.kind],
  );
}

/** The tool output and missing inputs to send with a decision. */
function extraFields(
  decision: string,
  answer: string,
  lacking: MissingInputs | null,
  texts: FieldTexts,
): { body: { output?: unknown; inputs?: Values }; errors: Map<string, string> } {
  const body: { output?: unknown; inputs?: Values } = {};
  const errors = new Map<string, string>();
  if (decision === "done") {
    const { value, error } = parseToolOutput(answer);
    if (error !== undefined) errors.set("/output", error);
    else if (value !== undefined) body.output = value;
  }
  if (lacking !== null && acceptsInputs(decision)) {
    const found = lacking.collect(texts);
    for (const [pointer, error] of found.errors) errors.set(pointer, error);
    if (Object.keys(found.inputs).length > 0) body.inputs = found.inputs;
  }
  return { body, errors };
}

/** Why the service refused a decision. */
function DecisionRefused({ problem }: { problem: Problem }) {
  const { user } = useAccount();
  const nameOf = useNames();
  const before = problem.body["decided"] as
    { decision: string; by: string; at: string } | null | undefined;
  if (before !== null && before !== undefined) {
    return (
      <Note
        kind="warn"
        title={`${actorName(before.by, user.email, nameOf)} ${describeDecision(before.decision)} on ${formatTime(before.at)}. Your decision was not recorded.`}
      />
    );
  }
  if (problem.status === 412)
    return (
      <Note
        kind="warn"
        title="The gate has changed. Your decision was not recorded; review the current version."
      />
    );
  if (problem.status === 409)
    return (
      <Note kind="warn" title="The run no longer waits here. Your decision was not recorded." />
    );
  if (problem.outcomeUnknown)
    return (
      <Note
        kind="warn"
        title="The response was lost, so it is unknown whether your decision arrived. Confirm it again: it counts only once."
      />
    );
  return (
    <Note kind="bad" title={toSentence(problem.message)}>
      {" "}
      Your decision was not recorded.
    </Note>
  );
}
