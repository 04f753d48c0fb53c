/** The fields that only steps of one kind have. */

import { useId } from "react";
import { getConnectors } from "../../../../api/resources";
import type { TemplateCheck } from "../../../../api/types";
import { Check, Field } from "../../../../components/Field";
import { useLoad } from "../../../../state/useLoad";
import { CelField } from "./CelField";
import { type Draft, nameOf, type Step } from "../draft/document";
import { CONDITION } from "../draft/findings";
import { namesIn, outputsOf } from "../draft/names";
import { JsonField, ListField, textOf } from "./StepFields";

interface Option {
  value: string;
  name: string;
}

interface Props {
  draft: Draft;
  step: Step;
  check: TemplateCheck | null;
  set: (members: Record<string, unknown>) => void;
}

const choices = (...names: string[]) => names.map((name) => ({ value: name, name }));
const TIERS = choices("low", "medium", "high", "critical");
const GATE_TIERS = choices("high", "critical");
const EFFECTS = [
  { value: "read", name: "read-only" },
  { value: "reversible", name: "reversible" },
  { value: "irreversible", name: "irreversible" },
];
const FLOWS = [
  { value: "exclusive", name: "exclusive: one branch" },
  { value: "parallel", name: "parallel: all branches" },
];

export function KindFields(props: Props) {
  const { step } = props;
  switch (step.kind) {
    case "task":
      return <TaskFields {...props} />;
    case "gate":
      return <Select {...props} name="tier" label="Risk tier" options={GATE_TIERS} or="high" />;
    case "gateway":
      return (
        <>
          <Select {...props} name="flow" label="Routing" options={FLOWS} or="exclusive" />
          <Select {...props} name="tier" label="Risk tier" options={TIERS} or="low" />
          <Needs {...props} />
        </>
      );
    case "wait":
      return <WaitFields {...props} />;
    default:
      return (
        <>
          <Text {...props} name="outcome" label="Outcome" hint="One word, such as paid." />
          <Check
            label="Compensate completed steps"
            checked={step["compensate"] === true}
            onChange={(undo) => props.set({ compensate: undo || undefined })}
          />
        </>
      );
  }
}

function TaskFields(props: Props) {
  const { draft, step, check, set } = props;
  const others = draft.steps.filter((one) => one.id !== step.id);
  const effects = "effect" in step ? EFFECTS : [{ value: "", name: "not set" }, ...EFFECTS];
  const steps = others.map((one) => ({ value: one.id, name: nameOf(one) }));
  return (
    <>
      <ToolField step={step} set={set} />
      <Select {...props} name="effect" label="Effect" options={effects} or="" />
      <Select {...props} name="tier" label="Risk tier" options={TIERS} or="low" />
      <Needs {...props} />
      <CelField
        label="Signal when"
        value={textOf(step["signal_when"])}
        names={outputsOf(draft, step)}
        onChange={(value) => set({ signal_when: value })}
        error={refusedCondition(check, step, step["signal_when"])}
        hint="CEL over output: if it is true, the next step waits for a person."
      />
      <Field
        label="On error"
        value={textOf(step["on_error"])}
        options={[{ value: "", name: "the run fails" }, ...steps]}
        onChange={(value) => set({ on_error: value })}
        required
      />
      <Text {...props} name="compensate" label="Compensation tool" hint="Undoes the step." />
      <JsonField
        step={step}
        set={set}
        name="dry_run"
        label="Dry-run output"
        hint='JSON, such as [{"when": "inputs.amount > 500.0", "output": {"ok": false}}, {"output": {"ok": true}}]'
      />
    </>
  );
}

function WaitFields(props: Props) {
  const { draft, step, check, set } = props;
  return (
    <>
      <p className="hint">Fill in one: a duration, a time, or a message.</p>
      <Text {...props} name="for" label="Duration" hint="ISO 8601, such as PT24H or P3BD." />
      <CelField
        label="Until"
        value={textOf(step["until"])}
        names={namesIn(draft)}
        onChange={(until) => set({ until })}
        error={refusedCondition(check, step, step["until"])}
        hint="CEL that gives a timestamp, such as timestamp(inputs.hearing)."
      />
      <Text {...props} name="message" label="Message" hint="Its name, such as answered." />
      <Text {...props} name="within" label="Message timeout" hint="Such as P30D." />
      <Needs {...props} />
    </>
  );
}

function Needs({ step, set }: Props) {
  return (
    <ListField
      step={step}
      set={set}
      name="needs"
      label="Required data"
      hint="Keys, such as inputs.amount, separated by commas"
    />
  );
}

function Text({
  step,
  set,
  name,
  label,
  hint,
}: Props & { name: string; label: string; hint: string }) {
  return (
    <Field
      label={label}
      value={textOf(step[name])}
      onChange={(value) => set({ [name]: value })}
      hint={hint}
    />
  );
}

function Select({
  step,
  set,
  name,
  label,
  options,
  or,
}: Props & { name: string; label: string; options: Option[]; or: string }) {
  return (
    <Field
      label={label}
      value={textOf(step[name]) || or}
      onChange={(value) => set({ [name]: value })}
      options={options}
      required
    />
  );
}

/** The tool of a task, with those that the company has connected. */
function ToolField({ step, set }: Pick<Props, "step" | "set">) {
  const id = useId();
  const { value } = useLoad("connectors of the editor", getConnectors);
  const tool = textOf(step["tool"]);
  const connector = (value ?? []).find((one) => one.tool_id === tool);
  return (
    <div className="field">
      <label htmlFor={id}>Tool</label>
      <p className="hint" id={`${id}-hint`}>
        {tool === "" || value === null
          ? "The connector that the step calls."
          : connector === undefined
            ? "No connector has this name yet: the call is simulated."
            : connector.reversible
              ? "Live: calls are sent."
              : "Shadow: calls are recorded, not sent."}
      </p>
      <input
        id={id}
        list={`${id}-known`}
        value={tool}
        autoComplete="off"
        aria-required="true"
        aria-describedby={`${id}-hint`}
        onChange={(event) => set({ tool: event.target.value })}
      />
      <datalist id={`${id}-known`}>
        {(value ?? []).map((one) => (
          <option key={one.tool_id} value={one.tool_id} />
        ))}
      </datalist>
    </div>
  );
}

function refusedCondition(check: TemplateCheck | null, step: Step, text: unknown) {
  if (typeof text !== "string") return undefined;
  return check?.violations.find(
    (one) => one.rule === CONDITION && (one.node ?? one.edge?.source) === step.id,
  )?.detail;
}
