/** The fields of a decision: for whom, tool output, missing inputs, form, code and comment. */

import { prettyPrint } from "../../api/json";
import { useMemo } from "react";
import type { Gate } from "../../api/types";
import { Field } from "../../components/Field";
import { SchemaFields } from "../../components/SchemaFields";
import { useMembers, useNames } from "../../state/members";
import { humanize } from "../../text/labels";
import { type DecisionTexts, formSchema, needsComment, takesCode, mayEdit } from "./decisionBody";
import { formFields } from "./formFields";
import { acceptsInputs, type MissingInputs } from "./missingInputs";
import { ToolOutputField } from "./ToolOutputField";
import type { Standing } from "./useStanding";
import { common } from "../../text/en/common";
import { actions } from "../../text/en/actions";
import { gate as t } from "../../text/en/gate";

interface Props {
  gate: Gate;
  decision: string;
  missing: MissingInputs | null;
  texts: DecisionTexts;
  onChange: (texts: DecisionTexts) => void;
  standing: Standing;
  giver: string;
  onGiver: (giver: string) => void;
  errors: Map<string, string>;
  disabled: boolean;
}

export function DecisionFields(props: Props) {
  const { gate, decision, missing, texts, onChange, errors, disabled } = props;
  const set = (part: Partial<DecisionTexts>) => onChange({ ...texts, ...part });
  const asked = formSchema(gate, decision);
  const form = useMemo(() => (asked === null ? null : formFields(asked)), [asked]);
  return (
    <>
      <GiverField {...props} />
      {decision === "done" && (
        <ToolOutputField
          text={texts.output}
          onChange={(output) => set({ output })}
          error={errors.get("/output")}
          disabled={disabled}
        />
      )}
      {missing !== null && acceptsInputs(decision) && (
        <fieldset className="missing-inputs" disabled={disabled}>
          <legend>{t("missingInputs")}</legend>
          <p className="muted small">{t("missingHint")}</p>
          <SchemaFields
            schema={missing.schema}
            texts={texts.inputs}
            onChange={(inputs) => set({ inputs })}
            errors={missing.fieldErrors(errors)}
          />
        </fieldset>
      )}
      {form !== null && (
        <fieldset className="missing-inputs" disabled={disabled}>
          <legend>{t("form")}</legend>
          <p className="muted small">{t("formHint")}</p>
          <SchemaFields
            schema={form.schema}
            texts={texts.form}
            onChange={(next) => set({ form: next })}
            errors={form.fieldErrors(errors)}
            at="/form"
          />
        </fieldset>
      )}
      {gate.action !== null && mayEdit(gate, decision) && (
        <Field
          label={actions("editArguments")}
          hint={actions("editHint", { pointers: gate.action.editable.join(", ") })}
          rows={6}
          value={texts.arguments === "" ? prettyPrint(gate.action.arguments) : texts.arguments}
          onChange={(next) => set({ arguments: next })}
          error={errors.get("/arguments") ?? argumentsError(errors)}
          disabled={disabled}
        />
      )}
      {takesCode(gate, decision) && (
        <Field
          label={t("reasonCode")}
          value={texts.code}
          onChange={(code) => set({ code })}
          options={[
            { value: "", name: common("notSet") },
            ...gate.policy.denial_codes.map((code) => ({ value: code, name: humanize(code) })),
          ]}
          required={gate.policy.code === "required"}
          error={errors.get("/code")}
          disabled={disabled}
        />
      )}
      <Field
        label={t("comment")}
        rows={2}
        value={texts.comment}
        onChange={(comment) => set({ comment })}
        hint={t("commentHint")}
        required={needsComment(gate, decision)}
        error={errors.get("/comment")}
        disabled={disabled}
      />
    </>
  );
}

/** Why the service refused changed arguments: at which of them. */
function argumentsError(errors: Map<string, string>): string | undefined {
  const found = [...errors].find(([pointer]) => pointer.startsWith("/arguments/"));
  return found === undefined ? undefined : `${found[0]}: ${found[1]}`;
}

/** For whom one decides, where somebody has delegated. */
function GiverField({ standing, giver, onGiver, disabled }: Props) {
  const { value: members } = useMembers();
  const nameOf = useNames();
  if (standing.delegations.length === 0) return null;
  const name = (id: string) => {
    const found = members?.find((one) => one.id === id);
    return found === undefined ? t("aColleague") : nameOf(found.email);
  };
  return (
    <Field
      label={t("decide")}
      value={giver}
      onChange={onGiver}
      options={[
        ...(standing.canDecide ? [{ value: "", name: t("forMyself") }] : []),
        // Two delegations of one person are one choice.
        ...[...new Set(standing.delegations.map((one) => one.giver))].map((id) => ({
          value: id,
          name: t("forGiver", { giver: name(id) }),
        })),
      ]}
      hint={t("bothNamed")}
      required
      disabled={disabled}
    />
  );
}
