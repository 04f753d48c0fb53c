/** The fields of the chosen step, what is wrong with it, and its ways on. */

import { useEffect, useId, useState } from "react";
import { getConnectors } from "../../../api/resources";
import type { TemplateCheck } from "../../../api/types";
import { Check, Field } from "../../../components/Field";
import { Icon } from "../../../components/Icon";
import { Label } from "../../../components/Text";
import { useLoad } from "../../../state/useLoad";
import { CelField } from "./CelField";
import {
  changed,
  type Draft,
  KIND_NAMES,
  namesIn,
  ofKind,
  removed,
  renamed,
  replaced,
  type Step,
  type StepKind,
  type Way,
  waysOf,
  withWays,
} from "./document";
import { PolicyFields } from "./PolicyFields";
import { JsonField, ListField, textOf } from "./StepFields";

interface Props {
  draft: Draft;
  step: Step;
  check: TemplateCheck | null;
  onChange: (draft: Draft) => void;
  onChoose: (id: string | null) => void;
}

const choices = (...names: string[]) => names.map((name) => ({ value: name, name }));
const KINDS = (Object.keys(KIND_NAMES) as StepKind[]).map((kind) => ({
  value: kind,
  name: KIND_NAMES[kind],
}));
const TIERS = choices("low", "medium", "high", "critical");
const GATE_TIERS = choices("high", "critical");
const EFFECTS = [
  { value: "read", name: "reads only" },
  { value: "reversible", name: "can be undone" },
  { value: "irreversible", name: "cannot be undone" },
];
const FLOWS = [
  { value: "exclusive", name: "one of them" },
  { value: "parallel", name: "all of them" },
];
const CONDITION = "condition_refused";

export function StepPanel(props: Props) {
  const { draft, step, check, onChange, onChoose } = props;
  const set = (members: Record<string, unknown>) => onChange(changed(draft, step.id, members));
  const guarded = step.kind === "gate" || ["high", "critical"].includes(textOf(step["tier"]));
  return (
    <section className="card step-panel" aria-label={`Step ${step.id}`}>
      <h2>
        <Label text={step.label} />
      </h2>
      <StepFindings step={step} check={check} />
      <Field
        label="Label"
        value={step.label}
        onChange={(label) => onChange(changed(draft, step.id, { label: label || " " }))}
        required
      />
      <IdField {...props} />
      <Field
        label="Kind"
        value={step.kind}
        options={KINDS}
        onChange={(kind) => onChange(ofKind(draft, step.id, kind as StepKind))}
        required
      />
      <KindFields {...props} set={set} />
      {guarded && step.kind !== "end" && step["flow"] !== "parallel" && (
        <PolicyFields step={step} set={set} />
      )}
      {step.kind !== "end" && <Ways {...props} />}
      <button
        type="button"
        className="button danger"
        onClick={() => {
          onChange(removed(draft, step.id));
          onChoose(null);
        }}
      >
        Delete this step
      </button>
    </section>
  );
}

/** The findings at this step; those of conditions stand at their fields. */
function StepFindings({ step, check }: { step: Step; check: TemplateCheck | null }) {
  const found = (check?.violations ?? []).filter(
    (one) => (one.node ?? one.edge?.source) === step.id && one.rule !== CONDITION,
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

function refusedCondition(check: TemplateCheck | null, step: Step, text: unknown) {
  if (typeof text !== "string") return undefined;
  return check?.violations.find(
    (one) => one.rule === CONDITION && (one.node ?? one.edge?.source) === step.id,
  )?.detail;
}

function KindFields({
  draft,
  step,
  check,
  set,
}: Props & { set: (members: Record<string, unknown>) => void }) {
  const members = { step, set };
  const field = (name: string, label: string, hint?: string) => (
    <Field
      label={label}
      value={textOf(step[name])}
      onChange={(value) => set({ [name]: value })}
      {...(hint === undefined ? {} : { hint })}
    />
  );
  const select = (
    name: string,
    label: string,
    options: { value: string; name: string }[],
    or: string,
  ) => (
    <Field
      label={label}
      value={textOf(step[name]) || or}
      onChange={(value) => set({ [name]: value })}
      options={options}
      required
    />
  );
  switch (step.kind) {
    case "task":
      return (
        <>
          <ToolField step={step} set={set} />
          {select("effect", "Effect", EFFECTS, "read")}
          {select("tier", "Risk", TIERS, "low")}
          <ListField {...members} name="needs" label="Needs" hint="Keys, such as inputs.amount" />
          <CelField
            label="Hit when"
            value={textOf(step["signal_when"])}
            names={["output"]}
            onChange={(value) => set({ signal_when: value })}
            error={refusedCondition(check, step, step["signal_when"])}
            hint="CEL over output: where it is true, a person decides about the next step."
          />
          {field("compensate", "Undone by")}
          <JsonField
            {...members}
            name="dry_run"
            label="Dry run"
            hint='What it answers in shadow: [{"output": {…}}]'
          />
        </>
      );
    case "gate":
      return select("tier", "Risk", GATE_TIERS, "high");
    case "gateway":
      return (
        <>
          {select("flow", "Ways on", FLOWS, "exclusive")}
          {select("tier", "Risk", TIERS, "low")}
        </>
      );
    case "wait":
      return (
        <>
          {field("for", "Wait for", "ISO 8601, such as PT24H or P3BD.")}
          <CelField
            label="Or until"
            value={textOf(step["until"])}
            names={namesIn(draft)}
            onChange={(until) => set({ until })}
            error={refusedCondition(check, step, step["until"])}
          />
          {field("message", "Or for the message")}
          {field("within", "Within", "How long it waits for the message")}
        </>
      );
    default:
      return (
        <>
          {field("outcome", "Outcome")}
          <Check
            label="Undo what was done"
            checked={step["compensate"] === true}
            onChange={(undo) => set({ compensate: undo || undefined })}
          />
        </>
      );
  }
}

/** The tool of a task, with those that the company has connected. */
function ToolField({ step, set }: { step: Step; set: (members: Record<string, unknown>) => void }) {
  const id = useId();
  const { value } = useLoad("connectors of the editor", getConnectors);
  return (
    <div className="field">
      <label htmlFor={id}>
        Tool<span className="optional"> optional</span>
      </label>
      <p className="hint">The connector that it calls.</p>
      <input
        id={id}
        list={`${id}-known`}
        value={textOf(step["tool"])}
        autoComplete="off"
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

/** An id counts when the field is left, since every letter of it would be one. */
function IdField({ draft, step, onChange, onChoose }: Props) {
  const [id, setId] = useState(step.id);
  useEffect(() => setId(step.id), [step.id]);
  const taken = id !== step.id && draft.steps.some((one) => one.id === id);
  const wrong = taken
    ? "another step has this id"
    : /^[a-z][a-z0-9-]{0,63}$/.test(id)
      ? ""
      : "letters a-z, digits and dashes, and a letter first";
  return (
    <div
      onBlur={() => {
        if (wrong !== "" || id === step.id) return;
        onChange(renamed(draft, step.id, id));
        onChoose(id);
      }}
    >
      <Field label="Id" value={id} onChange={setId} error={wrong} required />
    </div>
  );
}

function Ways({ draft, step, check, onChange }: Props) {
  const ways = waysOf(step);
  const set = (made: Way[]) => onChange(replaced(draft, step.id, withWays(step, made)));
  const conditional = step.kind === "gateway" && step["flow"] === "exclusive";
  const targets = draft.steps.map((one) => ({ value: one.id, name: `${one.label} (${one.id})` }));
  return (
    <fieldset className="ways">
      <legend>Leads on to</legend>
      {ways.map((way, place) => {
        const put = (members: Partial<Way>) =>
          set(ways.map((one, other) => (other === place ? { ...one, ...members } : one)));
        const missing = targets.every((one) => one.value !== way.to);
        return (
          <div className="way" key={place}>
            <Field
              label={`Branch ${place + 1}`}
              value={way.branch ?? ""}
              onChange={(branch) => put({ branch: branch === "" ? null : branch })}
            />
            {conditional && (
              <CelField
                label={`Condition of branch ${place + 1}`}
                value={way.when ?? ""}
                names={namesIn(draft)}
                onChange={(when) => put({ when: when === "" ? null : when })}
                error={refusedWay(check, step, way)}
              />
            )}
            <Field
              label={`Next step of branch ${place + 1}`}
              value={way.to}
              options={
                missing ? [{ value: way.to, name: `${way.to}: missing` }, ...targets] : targets
              }
              onChange={(to) => put({ to })}
              required
            />
            <button
              type="button"
              className="button icon-only"
              aria-label={`Remove branch ${place + 1}`}
              onClick={() => set(ways.filter((_, other) => other !== place))}
            >
              <Icon name="close" size={16} />
            </button>
          </div>
        );
      })}
      <button
        type="button"
        className="button"
        onClick={() =>
          set([...ways, { branch: null, when: null, to: draft.steps.at(-1)?.id ?? step.id }])
        }
      >
        <Icon name="plus" size={16} /> Add a way on
      </button>
    </fieldset>
  );
}

function refusedWay(check: TemplateCheck | null, step: Step, way: Way): string | undefined {
  if (way.when === null) return undefined;
  return check?.violations.find(
    (one) =>
      one.rule === CONDITION &&
      (one.node ?? one.edge?.source) === step.id &&
      (one.edge === null || one.edge.branch === way.branch),
  )?.detail;
}
