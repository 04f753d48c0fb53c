/** The fields of the chosen step, what is wrong with it, and its next steps. */

import type { TemplateCheck } from "../../../../api/types";
import { Field } from "../../../../components/Field";
import { Label } from "../../../../components/Text";
import {
  changed,
  type Draft,
  kindName,
  KINDS,
  ofKind,
  renamed,
  type Step,
  type StepKind,
} from "../draft/document";
import { CONDITION, placeOf } from "../draft/findings";
import { DutyField } from "./DutyField";
import { JudgeFields } from "./JudgeFields";
import { KindFields } from "./KindFields";
import { NameField } from "./NameField";
import { PolicyFields } from "./PolicyFields";
import { RequiredText, textOf } from "./StepFields";
import { Ways } from "./Ways";
import { editor as t } from "../../../../text/en/editor";

interface Props {
  draft: Draft;
  step: Step;
  check: TemplateCheck | null;
  onChange: (draft: Draft) => void;
  onChoose: (id: string | null) => void;
  onRemove: () => void;
}

export function StepPanel(props: Props) {
  const { draft, step, check, onChange, onChoose, onRemove } = props;
  const set = (members: Record<string, unknown>) => onChange(changed(draft, step.id, members));
  const guarded = step.kind === "gate" || ["high", "critical"].includes(textOf(step["tier"]));
  const decided = guarded && step.kind !== "end" && step["flow"] !== "parallel";
  return (
    <section className="card step-panel" aria-label={t("stepIs", { id: step.id })}>
      <p>
        <button type="button" className="link" onClick={() => onChoose(null)}>
          {t("allOfProcess")}
        </button>
      </p>
      <h2>
        <Label text={step.label} />
      </h2>
      <StepFindings step={step} check={check} />
      <RequiredText
        label={t("label")}
        value={step.label}
        owner={step.id}
        onChange={(label) => onChange(changed(draft, step.id, { label }))}
      />
      <IdField {...props} />
      <Field
        label={t("kindLabel")}
        value={step.kind}
        options={KINDS.map((kind) => ({ value: kind, name: kindName(kind) }))}
        onChange={(kind) => onChange(ofKind(draft, step.id, kind as StepKind))}
        required
      />
      <KindFields draft={draft} step={step} check={check} set={set} />
      {step.kind === "task" && <JudgeFields {...props} set={set} />}
      {decided && <PolicyFields draft={draft} step={step} set={set} />}
      {(step.kind === "task" || step.kind === "gate") && (
        <DutyField draft={draft} step={step} set={set} />
      )}
      {step.kind !== "end" && <Ways {...props} decided={decided} />}
      <p className="actions">
        <button type="button" className="button danger" onClick={onRemove}>
          {t("deleteStep")}
        </button>
      </p>
    </section>
  );
}

/** The findings at this step; those of conditions that have a field stand there. */
function StepFindings({ step, check }: { step: Step; check: TemplateCheck | null }) {
  const beside = step.kind === "gateway" || "signal_when" in step || "until" in step;
  const found = (check?.violations ?? []).filter(
    (one) => placeOf(one) === step.id && !(one.rule === CONDITION && beside),
  );
  if (found.length === 0) return null;
  return (
    <ul className="step-findings">
      {found.map((one, place) => (
        <li key={place} className="error">
          <Label text={one.detail} maxLength={300} />
        </li>
      ))}
    </ul>
  );
}

function IdField({ draft, step, onChange, onChoose }: Props) {
  return (
    <NameField
      label={t("stepId")}
      value={step.id}
      isTaken={(id) => draft.steps.some((one) => one.id === id)}
      takenText={t("idTaken")}
      onChange={(id) => {
        onChange(renamed(draft, step.id, id));
        onChoose(id);
      }}
    />
  );
}
