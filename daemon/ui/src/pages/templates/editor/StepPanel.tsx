/** The fields of the chosen step, and its ways on. */

import { useEffect, useState } from "react";
import { Field } from "../../../components/Field";
import { Icon } from "../../../components/Icon";
import { Label } from "../../../components/Text";
import {
  changed,
  type Draft,
  KIND_NAMES,
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

interface Props {
  draft: Draft;
  step: Step;
  onChange: (draft: Draft) => void;
  onChoose: (id: string | null) => void;
}

const choices = (...names: string[]) => names.map((name) => ({ value: name, name }));
const KINDS = (Object.keys(KIND_NAMES) as StepKind[]).map((kind) => ({
  value: kind,
  name: KIND_NAMES[kind],
}));
const TIERS = choices("low", "medium", "high", "critical");
const EFFECTS = [
  { value: "read", name: "reads only" },
  { value: "reversible", name: "can be undone" },
  { value: "irreversible", name: "cannot be undone" },
];
const AT_DEADLINE = [
  { value: "", name: "nothing: there is no deadline" },
  { value: "denied", name: "it is denied" },
];

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

export function StepPanel({ draft, step, onChange, onChoose }: Props) {
  const set = (members: Record<string, unknown>) => onChange(changed(draft, step.id, members));
  const field = (name: string, label: string, hint?: string) => (
    <Field
      label={label}
      value={text(step[name])}
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
      value={text(step[name]) || or}
      onChange={(value) => set({ [name]: value })}
      options={options}
      required
    />
  );
  return (
    <section className="card step-panel" aria-label={`Step ${step.id}`}>
      <h2>
        <Label text={step.label} />
      </h2>
      <Field
        label="Label"
        value={step.label}
        onChange={(label) => onChange(changed(draft, step.id, { label: label || " " }))}
        required
      />
      <IdField draft={draft} step={step} onChange={onChange} onChoose={onChoose} />
      <Field
        label="Kind"
        value={step.kind}
        options={KINDS}
        onChange={(kind) => onChange(ofKind(draft, step.id, kind as StepKind))}
        required
      />
      {step.kind === "task" && (
        <>
          {field("tool", "Tool", "The connector that it calls.")}
          {select("effect", "Effect", EFFECTS, "read")}
        </>
      )}
      {(step.kind === "task" || step.kind === "gateway") && select("tier", "Risk", TIERS, "low")}
      {step.kind === "gateway" &&
        select(
          "flow",
          "Ways on",
          [
            { value: "exclusive", name: "one of them" },
            { value: "parallel", name: "all of them" },
          ],
          "exclusive",
        )}
      {step.kind === "gate" && (
        <>
          {select("role", "Least role", choices("manager", "admin", "owner"), "manager")}
          <Field
            label="How many agree"
            value={text(step["quorum"])}
            inputMode="numeric"
            onChange={(value) => set({ quorum: /^\d+$/.test(value) ? Number(value) : undefined })}
          />
          {field("deadline", "Deadline", "ISO 8601, such as PT72H, or P3BD for business days.")}
          {select("on_deadline", "At the deadline", AT_DEADLINE, "")}
        </>
      )}
      {step.kind === "wait" && field("for", "Wait for", "ISO 8601, such as PT24H or P3BD.")}
      {step.kind === "end" && field("outcome", "Outcome")}
      {step.kind !== "end" && <Ways draft={draft} step={step} onChange={onChange} />}
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

function Ways({
  draft,
  step,
  onChange,
}: {
  draft: Draft;
  step: Step;
  onChange: (draft: Draft) => void;
}) {
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
              <Field
                label={`Condition of branch ${place + 1}`}
                value={way.when ?? ""}
                onChange={(when) => put({ when: when === "" ? null : when })}
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
