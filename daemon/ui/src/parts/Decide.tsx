/** The decision: choose, read what follows, confirm. What was shown is named with it, so that nobody decides on something else. */

import { type FormEvent, useId, useRef, useState } from "react";
import { ahead } from "../ahead";
import { freshKey, post, type Problem } from "../api";
import { asProblem } from "../hooks";
import { useAccount } from "../session";
import type { Canvas, Run } from "../types";
import { decided, decisionWord, mayDecide, moment } from "../words";
import { AheadList } from "./Ahead";
import { Note } from "./Bits";
import type { Shown } from "./Changes";
import { Field } from "./Field";
import type { Given } from "./Outcome";
import { Label } from "./Text";

interface Props {
  shown: Shown;
  canvas: Canvas | null;
  /** Whether the graph of this run is gone for good. */
  unknown: boolean;
  isLive: (tool: string) => boolean;
  blocked: boolean;
  onGiven: (given: Given) => void;
  onRefused: () => void;
}

export function Decide({ shown, canvas, unknown, isLive, blocked, onGiven, onRefused }: Props) {
  const { run, gate } = shown;
  const { role } = useAccount();
  const [decision, setDecision] = useState("");
  const [comment, setComment] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [unchosen, setUnchosen] = useState(false);
  const [busy, setBusy] = useState(false);
  const sent = useRef<{ body: string; key: string } | null>(null);
  const name = useId();
  const [asked, setAsked] = useState(gate.digest);
  if (asked !== gate.digest) {
    // Another question: what was chosen for the one before is no answer to it.
    setAsked(gate.digest);
    setDecision("");
    setProblem(null);
  }

  async function decide(event: FormEvent) {
    event.preventDefault();
    if (busy || blocked) return;
    if (decision === "") return setUnchosen(true);
    setBusy(true);
    setProblem(null);
    const body = { gate: gate.step_id, decision, digest: gate.digest, ...(comment.trim() === "" ? {} : { comment }) };
    const text = JSON.stringify(body);
    // Sent again after a lost answer, the same decision goes under the same key and counts once.
    if (sent.current?.body !== text) sent.current = { body: text, key: freshKey() };
    try {
      const after = await post<Run>(`/process-runs/${run.id}/resume`, body, sent.current.key);
      onGiven({ run: after, gate, decision });
    } catch (error) {
      const found = asProblem(error);
      if (!found.unsure) sent.current = null;
      setProblem(found);
      setBusy(false);
      if ([409, 412, 404].includes(found.status)) onRefused();
    }
  }

  if (!mayDecide(role, gate.role)) {
    return <Note kind="info" title={`A ${gate.role} decides here`}>You can read everything, but your role is {role}.</Note>;
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
            {canvas !== null && <AheadList steps={ahead(canvas, gate.step_id, one, { isLive, own: gate.effect?.mode ?? null, careful: !run.auto_resolve })} />}
          </label>
        ))}
      </fieldset>
      {unknown && <p className="muted small">What follows cannot be worked out here: the template of this run is gone.</p>}
      <Field label="Comment" rows={2} value={comment} onChange={setComment} hint="Kept with your decision in the history" disabled={blocked || busy} />
      {unchosen && <Note kind="bad" title="Choose one of the decisions first." />}
      {problem !== null && !blocked && <Refused problem={problem} />}
      <button type="submit" className={`button wide ${decision === "" ? "" : decision === "denied" ? "danger" : "primary"}`} disabled={blocked || busy}>
        {busy ? "Sending your decision…" : decision === "" ? word : <span>Confirm: <Label text={word} /></span>}
      </button>
    </form>
  );
}

/** Why a decision was not taken, in a sentence that says what that means. */
function Refused({ problem }: { problem: Problem }) {
  const before = problem.body["decided"] as { decision: string; by: string; at: string } | null | undefined;
  if (before !== null && before !== undefined) {
    return <Note kind="warn" title={`${before.by} ${decided(before.decision)} this on ${moment(before.at)}. Your decision was not used.`} />;
  }
  if (problem.status === 412) return <Note kind="warn" title="It is not what you were shown any more. Your decision was not used; look at it as it is now." />;
  if (problem.status === 409) return <Note kind="warn" title="The run does not wait here any more. Your decision was not used." />;
  if (problem.unsure) return <Note kind="warn" title="The answer got lost, so it is not clear whether your decision arrived. Confirm it again: it counts only once." />;
  return <Note kind="bad" title={problem.message}> Your decision was not used.</Note>;
}
