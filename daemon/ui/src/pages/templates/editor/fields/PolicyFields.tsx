/** Who decides at a step, how, and by when. */

import { Field } from "../../../../components/Field";
import type { Step } from "../draft/document";
import { type Schema, SchemaBuilder } from "./SchemaBuilder";
import { listOf, ListField, NumberField, textOf } from "./StepFields";

const choices = (...names: string[]) => names.map((name) => ({ value: name, name }));
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
  const select = (name: string, label: string, options: string[], or: string) => (
    <Field
      label={label}
      value={textOf(step[name]) || or}
      options={choices(...options)}
      onChange={(value) => set({ [name]: value === or ? undefined : value })}
      required
    />
  );
  return (
    <>
      <Field
        label="Question"
        value={textOf(step["question"])}
        onChange={(question) => set({ question: question === "" ? undefined : question })}
        hint="Such as: Refund {inputs.amount:.2f} for order {inputs.order_id}?"
      />
      {select("role", "Minimum role", ["manager", "admin", "owner"], "manager")}
      <ListField {...members} name="groups" label="Groups" hint="Only their members decide." />
      <NumberField {...members} name="quorum" label="Approvals required" hint="1, unless said" />
      <NumberField {...members} name="denials" label="Denials required" hint="1, unless said" />
      <ListField
        {...members}
        name="four_eyes"
        label="Separation of duties"
        hint="Who may not decide: starter, connector-author, template-author, gate:<step>"
      />
      {select("comment", "Comment", ["optional", "on-denial", "always"], "optional")}
      <ListField {...members} name="denial_codes" label="Denial codes" />
      {listOf(step["denial_codes"]).length > 0 &&
        select("code", "Denial code", ["optional", "required"], "optional")}
      <SchemaBuilder
        legend="Form"
        owner={step.id}
        schema={(step["form"] as Schema | undefined) ?? null}
        onChange={(form) => set({ form })}
      />
      <Field
        label="Deadline"
        value={textOf(step["deadline"])}
        onChange={(deadline) => set({ deadline })}
        hint="ISO 8601 from the opening of the gate, such as PT72H, or P3BD for business days."
      />
      <ListField {...members} name="remind" label="Reminders" hint="Such as PT24H, PT48H" />
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
  const options = [
    { value: "", name: "not set" },
    { value: "denied", name: "deny" },
    { value: ESCALATE, name: "escalate" },
  ];
  const branch = escalation === null ? textOf(value) : ESCALATE;
  if (!options.some((one) => one.value === branch))
    options.push({ value: branch, name: `take branch ${branch}` });
  return (
    <>
      <Field
        label="On deadline"
        value={branch}
        options={options}
        onChange={(chosen) =>
          chosen === ESCALATE ? put({}) : set({ on_deadline: chosen === "" ? undefined : chosen })
        }
        required
      />
      {escalation !== null && (
        <>
          <Field
            label="Escalate to role"
            value={escalation.escalate}
            options={choices("manager", "admin", "owner")}
            onChange={(escalate) => put({ escalate })}
            required
          />
          <Field
            label="Escalation deadline"
            value={escalation.again ?? ""}
            onChange={(again) => put({ again })}
            hint="After the escalation, such as PT24H"
          />
          <Field
            label="On escalation deadline"
            value={escalation.then ?? ""}
            onChange={(then) => put({ then })}
            hint="denied, or a branch"
          />
        </>
      )}
    </>
  );
}
