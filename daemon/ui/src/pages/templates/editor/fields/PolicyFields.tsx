/** Who decides at a step, how, and by when. */

import { roleLabel } from "../../../../text/labels";
import { Field } from "../../../../components/Field";
import type { Step } from "../draft/document";
import { type Schema, SchemaBuilder } from "./SchemaBuilder";
import { listOf, ListField, NumberField, textOf } from "./StepFields";
import { common } from "../../../../text/en/common";
import { editor as t } from "../../../../text/en/editor";

const roles = (...ids: string[]) => ids.map((value) => ({ value, name: roleLabel(value) }));
const options = (...ids: string[]) =>
  ids.map((value) => ({ value, name: t.code("option", value) }));
const ESCALATE = "escalate";

interface Escalation {
  escalate: string;
  again?: string;
  then?: string;
}

interface Props {
  step: Step;
  set: (members: Record<string, unknown>) => void;
}

export function PolicyFields({ step, set }: Props) {
  const members = { step, set };
  const select = (
    name: string,
    label: string,
    offered: { value: string; name: string }[],
    or: string,
  ) => (
    <Field
      label={label}
      value={textOf(step[name]) || or}
      options={offered}
      onChange={(value) => set({ [name]: value === or ? undefined : value })}
      required
    />
  );
  return (
    <>
      <Field
        label={t("question")}
        value={textOf(step["question"])}
        onChange={(question) => set({ question: question === "" ? undefined : question })}
        hint={t("questionHint", {
          example: "Refund {inputs.amount:.2f} for order {inputs.order_id}?",
        })}
      />
      {select("role", t("minimumRole"), roles("manager", "admin", "owner"), "manager")}
      <ListField {...members} name="groups" label={t("groups")} hint={t("groupsHint")} />
      <NumberField
        {...members}
        name="quorum"
        label={t("approvalsRequired")}
        hint={t("oneUnless")}
      />
      <NumberField {...members} name="denials" label={t("denialsRequired")} hint={t("oneUnless")} />
      <ListField {...members} name="four_eyes" label={t("separation")} hint={t("separationHint")} />
      {select("comment", t("comment"), options("optional", "on-denial", "always"), "optional")}
      <ListField {...members} name="denial_codes" label={t("denialCodes")} />
      {listOf(step["denial_codes"]).length > 0 &&
        select("code", t("denialCode"), options("optional", "required"), "optional")}
      <SchemaBuilder
        legend={t("form")}
        owner={step.id}
        schema={(step["form"] as Schema | undefined) ?? null}
        onChange={(form) => set({ form })}
      />
      <Field
        label={t("deadline")}
        value={textOf(step["deadline"])}
        onChange={(deadline) => set({ deadline })}
        hint={t("deadlineHint")}
      />
      <ListField {...members} name="remind" label={t("reminders")} hint={t("remindersHint")} />
      <AtDeadline step={step} set={set} />
    </>
  );
}

function AtDeadline({ step, set }: Props) {
  const value = step["on_deadline"];
  const escalation = typeof value === "object" && value !== null ? (value as Escalation) : null;
  const put = (members: Partial<Escalation>) => {
    const made = Object.entries({ escalate: "admin", ...escalation, ...members });
    set({ on_deadline: Object.fromEntries(made.filter(([, one]) => one !== "")) });
  };
  const deeds = [
    { value: "", name: common("notSet") },
    { value: "denied", name: t("deny") },
    { value: ESCALATE, name: t("escalate") },
  ];
  const branch = escalation === null ? textOf(value) : ESCALATE;
  if (!deeds.some((one) => one.value === branch))
    deeds.push({ value: branch, name: t("takeBranch", { branch }) });
  return (
    <>
      <Field
        label={t("onDeadline")}
        value={branch}
        options={deeds}
        onChange={(chosen) =>
          chosen === ESCALATE ? put({}) : set({ on_deadline: chosen === "" ? undefined : chosen })
        }
        required
      />
      {escalation !== null && (
        <>
          <Field
            label={t("escalateTo")}
            value={escalation.escalate}
            options={roles("manager", "admin", "owner")}
            onChange={(escalate) => put({ escalate })}
            required
          />
          <Field
            label={t("escalationDeadline")}
            value={escalation.again ?? ""}
            onChange={(again) => put({ again })}
            hint={t("escalationHint")}
          />
          <Field
            label={t("onEscalationDeadline")}
            value={escalation.then ?? ""}
            onChange={(then) => put({ then })}
            hint={t("onEscalationHint")}
          />
        </>
      )}
    </>
  );
}
