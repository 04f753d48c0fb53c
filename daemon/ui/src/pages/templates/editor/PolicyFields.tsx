/** Who decides at a step, how, and by when. */

import { Field } from "../../../components/Field";
import type { Step } from "./document";
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
      {select("role", "Least role", ["manager", "admin", "owner"], "manager")}
      <ListField {...members} name="groups" label="Of one of these groups" />
      <NumberField {...members} name="quorum" label="How many agree" />
      <NumberField {...members} name="denials" label="How many deny" />
      <ListField
        {...members}
        name="four_eyes"
        label="Who may not decide"
        hint="starter, connector-author, template-author, gate:<step>"
      />
      {select("comment", "Comment", ["optional", "on-denial", "always"], "optional")}
      <ListField {...members} name="denial_codes" label="Codes of a denial" />
      {listOf(step["denial_codes"]).length > 0 &&
        select("code", "A denial has a code", ["optional", "required"], "optional")}
      <SchemaBuilder
        legend="Form"
        schema={(step["form"] as Schema | undefined) ?? null}
        onChange={(form) => set({ form })}
      />
      <Field
        label="Deadline"
        value={textOf(step["deadline"])}
        onChange={(deadline) => set({ deadline })}
        hint="ISO 8601, such as PT72H, or P3BD for business days."
      />
      <ListField {...members} name="remind" label="Remind after" hint="Such as PT24H, PT48H" />
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
    { value: "", name: "nothing: there is no deadline" },
    { value: "denied", name: "it is denied" },
    { value: ESCALATE, name: "others may decide, too" },
  ];
  const branch = escalation === null ? textOf(value) : ESCALATE;
  if (!options.some((one) => one.value === branch))
    options.push({ value: branch, name: `the branch ${branch}` });
  return (
    <>
      <Field
        label="At the deadline"
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
            label="From this role on"
            value={escalation.escalate}
            options={choices("manager", "admin", "owner")}
            onChange={(escalate) => put({ escalate })}
            required
          />
          <Field
            label="And again after"
            value={escalation.again ?? ""}
            onChange={(again) => put({ again })}
            hint="Such as PT24H"
          />
          <Field
            label="Then"
            value={escalation.then ?? ""}
            onChange={(then) => put({ then })}
            hint="denied, or a branch"
          />
        </>
      )}
    </>
  );
}
