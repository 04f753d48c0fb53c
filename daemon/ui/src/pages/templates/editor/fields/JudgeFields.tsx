/** Who judges a task of medium risk, and how many of them have to clear it. */

import type { TemplateCheck } from "../../../../api/types";
import { Field } from "../../../../components/Field";
import { Icon } from "../../../../components/Icon";
import { numberJson, numberText } from "../../../../text/formats";
import type { Draft, Step } from "../draft/document";
import {
  type Judge,
  judgeAdded,
  judgeAsks,
  judgeChanged,
  judgeRemoved,
  judgesOf,
} from "../draft/judges";
import { namesIn } from "../draft/names";
import { CelField } from "./CelField";
import { NumberField, ParsedField, RequiredText } from "./StepFields";
import { editor as t } from "../../../../text/en/editor";

const CALL = ["call", "call.tool", "call.method", "call.url", "call.headers", "call.body"];

interface Props {
  draft: Draft;
  step: Step;
  check: TemplateCheck | null;
  set: (members: Record<string, unknown>) => void;
  onChange: (draft: Draft) => void;
}

export function JudgeFields({ draft, step, check, set, onChange }: Props) {
  const judges = judgesOf(draft, step.id);
  if (judges.length === 0 && step["tier"] !== "medium") return null;
  return (
    <fieldset className="ways">
      <legend>{t("judges")}</legend>
      <p className="hint">{t("judgesHint")}</p>
      {judges.map((judge) => (
        <JudgeField
          key={judge.id}
          judge={judge}
          names={[...namesIn(draft), ...CALL]}
          error={refusedRule(check, judge)}
          onChange={(members) => onChange(judgeChanged(draft, judge.id, members))}
          onAsks={(kind) => onChange(judgeAsks(draft, judge.id, kind))}
          onRemove={() => onChange(judgeRemoved(draft, judge.id, step.id))}
        />
      ))}
      {judges.length > 1 && (
        <NumberField
          step={step}
          set={set}
          name="quorum"
          label={t("judgesNeeded")}
          hint={t("judgesNeededHint")}
        />
      )}
      <button
        type="button"
        className="button"
        onClick={() => onChange(judgeAdded(draft, step.id, t("newJudge")))}
      >
        <Icon name="plus" size={16} /> {t("addJudge")}
      </button>
    </fieldset>
  );
}

function JudgeField({
  judge,
  names,
  error,
  onChange,
  onAsks,
  onRemove,
}: {
  judge: Judge;
  names: string[];
  error: string | undefined;
  onChange: (members: Partial<Judge>) => void;
  onAsks: (kind: "rule" | "tool") => void;
  onRemove: () => void;
}) {
  const { label } = judge;
  return (
    <div className="way" role="group" aria-label={t("judgeIs", { label })}>
      <RequiredText
        label={t("label")}
        value={label}
        owner={judge.id}
        onChange={(made) => onChange({ label: made })}
      />
      <Field
        label={t("judgeAsks")}
        value={judge.tool === undefined ? "rule" : "tool"}
        options={(["rule", "tool"] as const).map((value) => ({ value, name: t(`judge.${value}`) }))}
        onChange={(kind) => onAsks(kind as "rule" | "tool")}
        required
      />
      {judge.tool === undefined ? (
        <>
          <CelField
            label={t("judgeRule")}
            value={judge.rule ?? ""}
            names={names}
            onChange={(rule) => onChange({ rule })}
            error={error}
            hint={t("judgeRuleHint")}
          />
          <ParsedField<number>
            label={t("judgeConfidence")}
            stands={numberText(String(judge.confidence ?? 1))}
            owner={judge.id}
            read={readShare}
            show={(share) => numberText(String(share))}
            onChange={(confidence) => onChange({ confidence })}
            hint={t("judgeConfidenceHint")}
          />
        </>
      ) : (
        <RequiredText
          label={t("judgeTool")}
          value={judge.tool}
          owner={judge.id}
          onChange={(tool) => onChange({ tool })}
        />
      )}
      <button
        type="button"
        className="button"
        aria-label={t("removeJudge", { label })}
        onClick={onRemove}
      >
        <Icon name="close" size={16} /> {t("remove")}
      </button>
    </div>
  );
}

function readShare(text: string): { value: number } | { error: string } {
  const value = Number(numberJson(text));
  return text.trim() !== "" && value >= 0 && value <= 1 ? { value } : { error: t("mustBeShare") };
}

/** What the service found wrong with the rule of a judge. */
function refusedRule(check: TemplateCheck | null, judge: Judge): string | undefined {
  const place = `judges/${judge.id}/rule: `;
  const found = check?.violations.find((one) => one.detail.toLowerCase().startsWith(place));
  return found?.detail.slice(place.length);
}
