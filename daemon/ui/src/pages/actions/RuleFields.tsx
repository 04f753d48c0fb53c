/** The fields of a rule. */

import { parseObject } from "../../api/json";
import { Field } from "../../components/Field";
import { effectLabel, tierLabel } from "../../text/labels";
import { actions as t } from "../../text/en/actions";
import { common } from "../../text/en/common";
import { DECISIONS, EFFECTS, type RuleDraft, type RuleName } from "./ruleDraft";

const TIERS = ["medium", "high", "critical"];
const ROWS = 3;

export function RuleFields({
  draft,
  errors,
  onChange,
}: {
  draft: RuleDraft;
  errors: Map<string, string>;
  onChange: (draft: RuleDraft) => void;
}) {
  const field = (name: RuleName, more: Partial<Parameters<typeof Field>[0]> = {}) => (
    <Field
      label={t(`field.${name}`)}
      value={draft[name]}
      onChange={(value) => onChange({ ...draft, [name]: value })}
      error={errors.get(name)}
      {...more}
    />
  );
  const object = (name: "gate" | "budget") =>
    field(name, {
      rows: ROWS,
      hint: t(`hint.${name}`),
      error:
        errors.get(name) ??
        (draft[name].trim() === "" || parseObject(draft[name]) !== null
          ? undefined
          : common("mustBeJsonObject")),
    });
  return (
    <div className="rule-fields">
      {field("id", { required: true, hint: t("hint.id") })}
      {field("tool", { required: true, hint: t("hint.tool") })}
      {field("server")}
      {field("agent")}
      {field("model")}
      {field("when", { rows: 2, hint: t("hint.when") })}
      {field("decision", {
        required: true,
        options: DECISIONS.map((one) => ({ value: one, name: t(`decision.${one}`) })),
      })}
      {field("reason", { hint: t("hint.reason") })}
      {field("effect", {
        required: true,
        options: EFFECTS.map((one) => ({ value: one, name: effectLabel(one) })),
      })}
      {field("tier", {
        options: [
          { value: "", name: common("notSet") },
          ...TIERS.map((one) => ({ value: one, name: tierLabel(one) })),
        ],
      })}
      {field("question")}
      {field("expires", { hint: t("hint.expires") })}
      {object("gate")}
      {object("budget")}
    </div>
  );
}
