/** What may be cleared without a person: both floors, and the steps that may learn. */

import { type FormEvent, useState } from "react";
import { type Problem, send, toProblem } from "../../api/client";
import type { Autonomy } from "../../api/types";
import { Note } from "../../components/Feedback";
import { Check, Field } from "../../components/Field";
import { FieldErrors } from "../../components/FieldErrors";
import { useTemplateTitles } from "../../state/useLoad";
import { AddStep } from "./AddStep";
import {
  bodyOf,
  type Draft,
  draftOf,
  learnableDraft,
  type LearnableDraft,
  pointerOf,
} from "./draft";
import { stepName } from "./stepName";
import { autonomy as t } from "../../text/en/autonomy";
import { common } from "../../text/en/common";

const NOTHING_WRONG = new Map<string, string>();

interface Props {
  path: string;
  settings: Autonomy;
  manages: boolean;
  onStored: (settings: Autonomy) => void;
}

export function AutonomyForm({ path, settings, manages, onStored }: Props) {
  const [draft, setDraft] = useState(() => draftOf(settings));
  const [state, setState] = useState<"" | "busy" | "done" | Problem>("");
  const errors = typeof state === "object" ? state.fields : NOTHING_WRONG;
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (state === "busy") return;
    setState("busy");
    send<Autonomy>("PUT", path, { body: bodyOf(draft, draftOf(settings)) }).then(
      ({ value }) => {
        setDraft(draftOf(value));
        onStored(value);
        setState("done");
      },
      (error: unknown) => setState(toProblem(error)),
    );
  };
  return (
    <form onSubmit={submit} noValidate>
      {typeof state === "object" && errors.size === 0 && <Note kind="bad" title={state.message} />}
      <FieldErrors errors={errors} />
      {state === "done" && <Note kind="good" title={t("saved")} />}
      <fieldset className="choices" disabled={!manages}>
        <legend className="visually-hidden">{t("settings")}</legend>
        <Check
          label={t("autoResolve")}
          hint={t("autoResolveHint")}
          checked={draft.autoResolve}
          onChange={(autoResolve) => set({ autoResolve })}
        />
        <Field
          label={t("confidenceFloor")}
          hint={t("confidenceFloorHint")}
          value={draft.confidenceFloor}
          onChange={(confidenceFloor) => set({ confidenceFloor })}
          inputMode="decimal"
          error={errors.get("/confidence_floor")}
          required
        />
        <Field
          label={t("irreversibleFloor")}
          hint={t("irreversibleFloorHint")}
          value={draft.irreversibleFloor}
          onChange={(irreversibleFloor) => set({ irreversibleFloor })}
          inputMode="decimal"
          error={errors.get("/irreversible_floor")}
          required
        />
        <LearnableSteps
          steps={draft.learnable}
          onChange={(learnable) => set({ learnable })}
          errors={errors}
          manages={manages}
        />
      </fieldset>
      {manages && (
        <button type="submit" className="button primary" disabled={state === "busy"}>
          {common("save")}
        </button>
      )}
    </form>
  );
}

function LearnableSteps({
  steps,
  onChange,
  errors,
  manages,
}: {
  steps: LearnableDraft[];
  onChange: (steps: LearnableDraft[]) => void;
  errors: Map<string, string>;
  manages: boolean;
}) {
  const titles = useTemplateTitles();
  const change = (name: string, more: Partial<LearnableDraft>) =>
    onChange(steps.map((one) => (one.name === name ? { ...one, ...more } : one)));
  return (
    <>
      <h3>{t("learnable")}</h3>
      <p className="hint gap">{t("learnableHint")}</p>
      {steps.length === 0 && <p className="muted gap">{t("noLearnable")}</p>}
      {steps.map((one) => {
        const [vertical = "", id = ""] = one.name.split("/");
        const step = stepName(titles, vertical, id);
        const pointer = pointerOf(one.name);
        return (
          <div key={one.name}>
            <Field
              label={t("threshold", { step })}
              hint={t("thresholdHint")}
              value={one.threshold}
              onChange={(threshold) => change(one.name, { threshold })}
              inputMode="decimal"
              error={errors.get(`${pointer}/threshold`) ?? errors.get(pointer)}
              required
            />
            <Field
              label={t("sample", { step })}
              hint={t("sampleHint")}
              value={one.sampleOneIn}
              onChange={(sampleOneIn) => change(one.name, { sampleOneIn })}
              inputMode="numeric"
              error={errors.get(`${pointer}/sample_one_in`)}
              required
            />
            {manages && (
              <button
                type="button"
                className="button gap"
                onClick={() => onChange(steps.filter((other) => other.name !== one.name))}
              >
                {t("removeStep", { step })}
              </button>
            )}
          </div>
        );
      })}
      {manages && (
        <AddStep
          present={steps.map((one) => one.name)}
          onAdd={(name) => onChange([...steps, learnableDraft(name)])}
        />
      )}
    </>
  );
}
