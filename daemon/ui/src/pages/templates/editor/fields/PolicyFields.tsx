/** Who decides at a step, how, and by when. */

import { roleLabel } from "../../../../text/labels";
import { Field } from "../../../../components/Field";
import { clocksIn, isAnchor } from "../draft/clocks";
import type { Draft, Step } from "../draft/document";
import { functionsIn } from "../draft/offices";
import { AnchorFields } from "./ClockFields";
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
  draft: Draft;
  step: Step;
  set: (members: Record<string, unknown>) => void;
}

export function PolicyFields({ draft, step, set }: Props) {
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
      <FunctionField draft={draft} step={step} set={set} />
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
      <Deadline draft={draft} step={step} set={set} />
      <ListField {...members} name="remind" label={t("reminders")} hint={t("remindersHint")} />
      <AtDeadline step={step} set={set} />
    </>
  );
}

/** The function that decides here; role and groups stand in while nobody fills it. */
function FunctionField({ draft, step, set }: Props) {
  const functions = Object.entries(functionsIn(draft));
  const chosen = textOf(step["function"]);
  if (functions.length === 0 && chosen === "") return null;
  const offered = functions.map(([id, { label }]) => ({ value: id, name: label }));
  if (chosen !== "" && !functions.some(([id]) => id === chosen))
    offered.unshift({ value: chosen, name: chosen });
  return (
    <Field
      label={t("function")}
      hint={t("functionHint")}
      value={chosen}
      options={[{ value: "", name: common("notSet") }, ...offered]}
      onChange={(id) => set({ function: id === "" ? undefined : id })}
      required
    />
  );
}

/** So long after the gate has opened, or so long before a clock is due. */
function Deadline({ draft, step, set }: Props) {
  const { deadline } = step;
  const [first] = clocksIn(draft);
  const anchor = isAnchor(deadline) ? deadline : null;
  return (
    <>
      {(first !== undefined || anchor !== null) && (
        <Field
          label={t("deadlineFrom")}
          value={anchor === null ? "gate" : "clock"}
          options={(["gate", "clock"] as const).map((value) => ({
            value,
            name: t(`deadlineFrom.${value}`),
          }))}
          onChange={(kind) =>
            set({
              deadline: kind === "clock" ? { clock: first?.id ?? "", before: "P1D" } : undefined,
            })
          }
          required
        />
      )}
      {anchor === null ? (
        <Field
          label={t("deadline")}
          value={textOf(deadline)}
          onChange={(text) => set({ deadline: text })}
          hint={t("deadlineHint")}
        />
      ) : (
        <AnchorFields
          draft={draft}
          deadline={anchor}
          onChange={(next) => set({ deadline: next })}
        />
      )}
    </>
  );
}

function AtDeadline({ step, set }: Omit<Props, "draft">) {
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
