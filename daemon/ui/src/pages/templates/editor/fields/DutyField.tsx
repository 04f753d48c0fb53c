/** The rule of the process whose act a step is. */

import { Field } from "../../../../components/Field";
import type { Draft, Step } from "../draft/document";
import { textOf } from "./StepFields";
import { common } from "../../../../text/en/common";
import { editor as t } from "../../../../text/en/editor";

interface Rule {
  id?: string;
  source?: string;
}

export function DutyField({
  draft,
  step,
  set,
}: {
  draft: Draft;
  step: Step;
  set: (members: Record<string, unknown>) => void;
}) {
  const rules = (Array.isArray(draft["rules"]) ? (draft["rules"] as Rule[]) : []).flatMap(
    ({ id, source }) => (id === undefined ? [] : [{ value: id, name: `${source ?? ""} (${id})` }]),
  );
  const duty = textOf(step["duty"]);
  if (rules.length === 0 && duty === "") return null;
  const known = duty === "" || rules.some(({ value }) => value === duty);
  return (
    <Field
      label={t("duty")}
      hint={t("dutyHint")}
      value={duty}
      options={[
        { value: "", name: common("notSet") },
        ...(known ? [] : [{ value: duty, name: duty }]),
        ...rules,
      ]}
      onChange={(id) => set({ duty: id === "" ? undefined : id })}
      required
    />
  );
}
