/**
 * The decision form. It sends the digest of the gate that was shown, so that a changed gate refuses
 * the decision.
 */

import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { get, newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import { stringify } from "../../api/json";
import type { DecisionPreview as Preview, Gate, Run } from "../../api/types";
import { Note } from "../../components/Feedback";
import { FieldErrors } from "../../components/FieldErrors";
import { Label } from "../../components/Text";
import { useLoad } from "../../state/useLoad";
import { decisionLabel } from "../../text/labels";
import { decisionBody, initialTexts } from "./decisionBody";
import { DecisionFields } from "./DecisionFields";
import { DecisionPreview } from "./DecisionPreview";
import { DecisionRefused } from "./DecisionRefused";
import type { SentDecision } from "./DecisionResult";
import type { GateSnapshot } from "./differences";
import { useMissingInputs } from "./missingInputs";
import type { Standing } from "./useStanding";
import { WhoDecides } from "./WhoDecides";
import { gate as t } from "../../text/en/gate";

interface Props {
  shown: GateSnapshot;
  standing: Standing;
  /** What has changed since the gate was shown; it stands in the place of the button. */
  changes: ReactNode;
  label: (step: string) => string;
  /** Called before the response: the event stream may report the decision first. */
  onSent: (given: SentDecision) => void;
  onAccepted: (run: Run) => void;
  onRefused: (unsure: boolean) => void;
}

export function DecisionForm({
  shown,
  standing,
  changes,
  label,
  onSent,
  onAccepted,
  onRefused,
}: Props) {
  const { run, gate } = shown;
  const blocked = changes !== null;
  const [decision, setDecision] = useState("");
  const [texts, setTexts] = useState(() => initialTexts(gate));
  const [chosenGiver, setGiver] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [nothingChosen, setNothingChosen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Map<string, string>>(new Map());
  const missing = useMissingInputs(run, gate);
  const path = `/process-runs/${run.id}/gates/${encodeURIComponent(gate.step_id)}/preview`;
  const { value: previews } = useLoad(`${path} ${gate.digest}`, () =>
    get<{ decisions: Preview[] }>(path),
  );
  const sent = useRef<{ body: string; key: string } | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const name = useId();
  const [shownDigest, setShownDigest] = useState(gate.digest);
  if (shownDigest !== gate.digest) {
    // The gate has changed: discard the choice.
    setShownDigest(gate.digest);
    setDecision("");
    setProblem(null);
    setErrors(new Map());
  }
  useEffect(() => {
    if (errors.size > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [errors]);
  const givers = standing.delegations.map((one) => one.giver);
  const giver = chosenGiver === "" && !standing.canDecide ? (givers[0] ?? "") : chosenGiver;

  async function decide(event: FormEvent) {
    event.preventDefault();
    if (busy || blocked) return;
    if (decision === "") return setNothingChosen(true);
    const more = decisionBody(gate, decision, texts, missing);
    setProblem(null);
    setErrors(more.errors);
    if (more.errors.size > 0) return;
    setBusy(true);
    const body = {
      gate: gate.step_id,
      decision,
      digest: gate.digest,
      ...(giver === "" ? {} : { on_behalf_of: giver }),
      ...more.body,
    };
    const text = stringify(body);
    // The same decision keeps its key, so that a repeated request counts once.
    if (sent.current?.body !== text) sent.current = { body: text, key: newIdempotencyKey() };
    onSent({ gate, decision });
    try {
      onAccepted(await post<Run>(`/process-runs/${run.id}/resume`, body, sent.current.key));
      sent.current = null;
      setDecision("");
    } catch (error) {
      const found = toProblem(error);
      if (!found.outcomeUnknown) sent.current = null;
      setProblem(found);
      setErrors(found.fields);
      onRefused(found.outcomeUnknown);
    }
    setBusy(false);
  }

  if (!standing.canDecide && givers.length === 0)
    return (
      <>
        <WhoDecides
          shown={shown}
          standing={standing}
          comment={texts.comment}
          label={label}
          may={false}
        />
        {changes}
      </>
    );
  const word = decision === "" ? t("chooseAbove") : decisionLabel(decision);
  return (
    <form
      className="card decide"
      id="decide"
      ref={form}
      tabIndex={-1}
      onSubmit={(event) => void decide(event)}
      aria-labelledby={`${name}-title`}
    >
      <h2 id={`${name}-title`}>{t("yourDecision")}</h2>
      <WhoDecides shown={shown} standing={standing} comment={texts.comment} label={label} may />
      <fieldset disabled={blocked || busy} className="choices">
        <legend className="visually-hidden">{t("yourDecision")}</legend>
        {gate.decisions.map((text) => (
          <div key={text} className={`choice choice-${text === "denied" ? "deny" : "go"}`}>
            <label>
              <input
                type="radio"
                name={name}
                value={text}
                checked={decision === text}
                aria-describedby={`${name}-${text}`}
                onChange={() => {
                  setDecision(text);
                  setNothingChosen(false);
                }}
              />
              <span className="choice-word">
                <Label text={decisionLabel(text)} />
              </span>
            </label>
            <div id={`${name}-${text}`}>
              <PreviewOf decision={text} gate={gate} previews={previews} label={label} />
            </div>
          </div>
        ))}
      </fieldset>
      <DecisionFields
        gate={gate}
        decision={decision}
        missing={missing}
        texts={texts}
        onChange={setTexts}
        standing={standing}
        giver={giver}
        onGiver={setGiver}
        errors={errors}
        disabled={blocked || busy}
      />
      {nothingChosen && <Note kind="bad" title={t("chooseFirst")} />}
      <FieldErrors errors={errors} />
      {problem !== null && !blocked && errors.size === 0 && <DecisionRefused problem={problem} />}
      {changes ?? (
        <button
          type="submit"
          className={`button wide ${decision === "" ? "" : decision === "denied" ? "danger" : "primary"}`}
          disabled={busy}
        >
          {busy ? (
            t("sending")
          ) : decision === "" ? (
            word
          ) : (
            <span>{t("confirm", { word: <Label text={word} /> })}</span>
          )}
        </button>
      )}
    </form>
  );
}

function PreviewOf({
  decision,
  gate,
  previews,
  label,
}: {
  decision: string;
  gate: Gate;
  previews: { decisions: Preview[] } | null;
  label: (step: string) => string;
}) {
  const found = previews?.decisions.find((one) => one.decision === decision);
  return found === undefined ? null : <DecisionPreview preview={found} gate={gate} label={label} />;
}
