/** The decision: choose, read what follows, confirm. What was shown is named with it, so that nobody decides on something else. */

import { type FormEvent, useId, useMemo, useRef, useState } from "react";
import { ahead } from "../ahead";
import type { Shown } from "../changes";
import { freshKey, post, type Problem } from "../api";
import { asProblem, template, useLoad } from "../hooks";
import { useAccount } from "../session";
import { write } from "../json";
import { asksInputs, type Lacking, lackingOf } from "../lacking";
import { output } from "../output";
import { an, decided, sentence, who } from "../sentences";
import type { Canvas, Facts, Gate, GraphNode, Json, Run } from "../types";
import { decisionWord, mayDecide, moment } from "../words";
import { AheadList } from "./Ahead";
import { Answered } from "./Answered";
import { Note } from "./Bits";
import { Field } from "./Field";
import { Inputs, type Texts } from "./Inputs";
import type { Given } from "./Outcome";
import { Label } from "./Text";

interface Props {
  shown: Shown;
  canvas: Canvas | null;
  /** Whether the graph of this run is gone for good. */
  unknown: boolean;
  mode: (node: GraphNode) => "live" | "shadow";
  blocked: boolean;
  /** The decision is on its way: what the run says of it may come before the answer. */
  onSent: (given: Given) => void;
  onGiven: (run: Run) => void;
  onRefused: (unsure: boolean) => void;
}

export function Decide({ shown, canvas, unknown, mode, blocked, onSent, onGiven, onRefused }: Props) {
  const { run, gate } = shown;
  const { role } = useAccount();
  const [decision, setDecision] = useState("");
  const [comment, setComment] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [unchosen, setUnchosen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState("");
  const [texts, setTexts] = useState<Texts>({});
  const [mistakes, setMistakes] = useState<Map<string, string>>(new Map());
  const lacking = useLacking(run, gate);
  const sent = useRef<{ body: string; key: string } | null>(null);
  const name = useId();
  const [asked, setAsked] = useState(gate.digest);
  if (asked !== gate.digest) {
    // Another question: what was chosen for the one before is no answer to it.
    setAsked(gate.digest);
    setDecision("");
    setProblem(null);
    setMistakes(new Map());
  }

  async function decide(event: FormEvent) {
    event.preventDefault();
    if (busy || blocked) return;
    if (decision === "") return setUnchosen(true);
    const more = besides(decision, answer, lacking, texts);
    setProblem(null);
    setMistakes(more.mistakes);
    if (more.mistakes.size > 0) return;
    setBusy(true);
    const body = { gate: gate.step_id, decision, digest: gate.digest, ...(comment.trim() === "" ? {} : { comment }), ...more.body };
    const text = write(body);
    // Sent again after a lost answer, the same decision goes under the same key and counts once.
    if (sent.current?.body !== text) sent.current = { body: text, key: freshKey() };
    onSent({ gate, decision });
    try {
      onGiven(await post<Run>(`/process-runs/${run.id}/resume`, body, sent.current.key));
    } catch (error) {
      const found = asProblem(error);
      if (!found.unsure) sent.current = null;
      setProblem(found);
      setMistakes(found.fields);
      setBusy(false);
      onRefused(found.unsure);
    }
  }

  if (!mayDecide(role, gate.role)) {
    return <Note kind="info" title={sentence(`${an(gate.role ?? "person")} decides here`)}> You can read everything, but your role is {role}.</Note>;
  }
  const word = decision === "" ? "Choose a decision above" : decisionWord(decision);
  return (
    <form className="card decide" id="decide" tabIndex={-1} onSubmit={(event) => void decide(event)} aria-labelledby={`${name}-title`}>
      <h2 id={`${name}-title`}>Your decision</h2>
      <fieldset disabled={blocked || busy} className="choices">
        <legend className="unseen">Your decision</legend>
        {gate.decisions.map((one) => (
          <label key={one} className={`choice choice-${one === "denied" ? "deny" : "go"}`}>
            <input
              type="radio"
              name={name}
              value={one}
              checked={decision === one}
              onChange={() => {
                setDecision(one);
                setUnchosen(false);
              }}
            />
            <span className="choice-word">
              <Label text={decisionWord(one)} />
            </span>
            {canvas !== null && <AheadList steps={ahead(canvas, gate.step_id, one, { mode, careful: !run.auto_resolve })} />}
          </label>
        ))}
      </fieldset>
      {unknown && <p className="muted small">What follows cannot be worked out here: the template of this run is gone.</p>}
      {decision === "done" && <Answered text={answer} onChange={setAnswer} mistake={mistakes.get("/output")} disabled={blocked || busy} />}
      {lacking !== null && asksInputs(decision) && (
        <fieldset className="lacking" disabled={blocked || busy}>
          <legend>What is missing</legend>
          <p className="muted small">Nobody has handed this in yet. It goes along with your decision.</p>
          <Inputs schema={lacking.schema} texts={texts} onChange={setTexts} mistakes={lacking.told(mistakes)} />
        </fieldset>
      )}
      <Field label="Comment" rows={2} value={comment} onChange={setComment} hint="Kept with your decision in the history" disabled={blocked || busy} />
      {unchosen && <Note kind="bad" title="Choose one of the decisions first." />}
      {mistakes.size > 0 && <Note kind="bad" title="Something is missing or not right; see above." />}
      {problem !== null && !blocked && mistakes.size === 0 && <Refused problem={problem} />}
      <button type="submit" className={`button wide ${decision === "" ? "" : decision === "denied" ? "danger" : "primary"}`} disabled={blocked || busy}>
        {busy ? "Sending your decision…" : decision === "" ? word : <span>Confirm: <Label text={word} /></span>}
      </button>
    </form>
  );
}

/** The inputs that the gate asks for; null where nothing is missing. */
function useLacking(run: Run, gate: Gate): Lacking | null {
  const wanted = gate.missing ?? [];
  const { value: detail } = useLoad(`template ${run.vertical}`, () => template(run.vertical));
  const key = JSON.stringify(wanted);
  return useMemo(() => (wanted.length === 0 ? null : lackingOf(wanted, detail?.inputs_schema ?? {}, gate.kind === "task")), [key, detail, gate.kind]);
}

/** What goes along with a decision, as far as the page can read it as values. */
function besides(decision: string, answer: string, lacking: Lacking | null, texts: Texts): { body: { output?: Json; inputs?: Facts }; mistakes: Map<string, string> } {
  const body: { output?: Json; inputs?: Facts } = {};
  const mistakes = new Map<string, string>();
  if (decision === "done") {
    const { value, mistake } = output(answer);
    if (mistake !== undefined) mistakes.set("/output", mistake);
    else if (value !== undefined) body.output = value;
  }
  if (lacking !== null && asksInputs(decision)) {
    const found = lacking.collect(texts);
    for (const [pointer, mistake] of found.mistakes) mistakes.set(pointer, mistake);
    if (Object.keys(found.inputs).length > 0) body.inputs = found.inputs;
  }
  return { body, mistakes };
}

/** Why a decision was not taken, in a sentence that says what that means. */
function Refused({ problem }: { problem: Problem }) {
  const { user } = useAccount();
  const before = problem.body["decided"] as { decision: string; by: string; at: string } | null | undefined;
  if (before !== null && before !== undefined) {
    return <Note kind="warn" title={`${who(before.by, user.email)} ${decided(before.decision)} on ${moment(before.at)}. Your decision was not used.`} />;
  }
  if (problem.status === 412) return <Note kind="warn" title="It is not what you were shown any more. Your decision was not used; look at it as it is now." />;
  if (problem.status === 409) return <Note kind="warn" title="The run does not wait here any more. Your decision was not used." />;
  if (problem.unsure) return <Note kind="warn" title="The answer got lost, so it is not clear whether your decision arrived. Confirm it again: it counts only once." />;
  return <Note kind="bad" title={sentence(problem.message)}> Your decision was not used.</Note>;
}
