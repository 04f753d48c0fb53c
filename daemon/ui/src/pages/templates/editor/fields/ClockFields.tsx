/** The clocks of a process: each with what starts, stops, holds up and extends it. */

import { Fragment, type ReactNode, useId, useState } from "react";
import type { TemplateCheck } from "../../../../api/types";
import { Check, Field } from "../../../../components/Field";
import { Icon } from "../../../../components/Icon";
import { Label } from "../../../../components/Text";
import { roleLabel } from "../../../../text/labels";
import {
  type Clock,
  clockAdded,
  clockChanged,
  clockRemoved,
  clockRenamed,
  clocksIn,
} from "../draft/clocks";
import { type Draft, nameOf } from "../draft/document";
import { namesIn } from "../draft/names";
import { CelField } from "./CelField";
import { NameField } from "./NameField";
import { ListField, RequiredText } from "./StepFields";
import { common } from "../../../../text/en/common";
import { editor as t } from "../../../../text/en/editor";

interface Props {
  draft: Draft;
  check: TemplateCheck | null;
  onChange: (draft: Draft) => void;
  /** What is shown of the clock with an id. */
  children: (id: string) => ReactNode;
}

export function ClockFields({ draft, check, onChange, children }: Props) {
  const clocks = clocksIn(draft);
  const [opened, setOpened] = useState(clocks.length);
  return (
    <fieldset className="ways" aria-label={t("clocks")}>
      <legend>{t("clocks")}</legend>
      <p className="hint">{t("clocksHint")}</p>
      {clocks.map((clock, place) => (
        <Fragment key={place}>
          <details className="way-details" open={place >= opened}>
            <summary>
              <Label text={clock.label} />
            </summary>
            <ClockField
              draft={draft}
              clock={clock}
              check={check}
              onChange={(members) => onChange(clockChanged(draft, clock.id, members))}
              onRename={(id) => onChange(clockRenamed(draft, clock.id, id))}
              onRemove={() => onChange(clockRemoved(draft, clock.id))}
            />
          </details>
          {children(clock.id)}
        </Fragment>
      ))}
      <button
        type="button"
        className="button"
        onClick={() => {
          setOpened(clocks.length);
          onChange(clockAdded(draft, t("newClock")));
        }}
      >
        <Icon name="plus" size={16} /> {t("addClock")}
      </button>
    </fieldset>
  );
}

interface FieldProps {
  draft: Draft;
  clock: Clock;
  check: TemplateCheck | null;
  onChange: (members: Partial<Clock>) => void;
}

function ClockField(props: FieldProps & { onRename: (id: string) => void; onRemove: () => void }) {
  const { draft, clock, check, onChange, onRename, onRemove } = props;
  const set = (members: Record<string, unknown>) => onChange(members);
  const lists = { step: clock, set };
  return (
    <div className="way" role="group" aria-label={t("clockIs", { label: clock.label })}>
      <RequiredText
        label={t("label")}
        value={clock.label}
        owner={clock.id}
        onChange={(label) => onChange({ label })}
      />
      <NameField
        label={t("clockId")}
        value={clock.id}
        isTaken={(id) => clocksIn(draft).some((one) => one.id === id)}
        takenText={t("clockIdTaken")}
        onChange={onRename}
      />
      <Starts {...props} />
      <CelField
        label={t("clockWithin")}
        value={clock.within}
        names={namesIn(draft)}
        onChange={(within) => onChange({ within })}
        error={refused(check, clock, "within")}
        hint={t("clockWithinHint", { example: "inputs.expedited ? 'PT72H' : 'P7D'" })}
        required
      />
      <ListField {...lists} name="stops" label={t("clockStops")} hint={t("clockStopsHint")} />
      <ListField {...lists} name="pauses" label={t("clockPauses")} hint={t("clockPausesHint")} />
      <Extends {...props} />
      <ListField {...lists} name="warn" label={t("clockWarn")} hint={t("clockWarnHint")} />
      <Field
        label={t("clockBreach")}
        value={clock.on_breach?.escalate ?? ""}
        options={[
          { value: "", name: t("clockBreachTold") },
          ...["manager", "admin", "owner"].map((role) => ({
            value: role,
            name: t("clockBreachTo", { role: roleLabel(role) }),
          })),
        ]}
        onChange={(role) => onChange({ on_breach: role === "" ? undefined : { escalate: role } })}
        required
      />
      <Field
        label={t("clockSource")}
        value={clock.source ?? ""}
        onChange={(source) => onChange({ source })}
        hint={t("clockSourceHint")}
      />
      <button
        type="button"
        className="button"
        aria-label={t("removeClock", { label: clock.label })}
        onClick={onRemove}
      >
        <Icon name="close" size={16} /> {t("remove")}
      </button>
    </div>
  );
}

function Starts({ draft, clock, check, onChange }: FieldProps) {
  const kind = clock.from_step !== undefined ? "step" : clock.from !== undefined ? "time" : "run";
  const choose = (chosen: string) =>
    onChange({
      from: chosen === "time" ? (clock.from ?? "inputs.received_at") : undefined,
      from_step: chosen === "step" ? (clock.from_step ?? draft.steps[0]?.id) : undefined,
    });
  return (
    <>
      <Field
        label={t("clockStarts")}
        value={kind}
        options={(["run", "time", "step"] as const).map((value) => ({
          value,
          name: t(`clockFrom.${value}`),
        }))}
        onChange={choose}
        required
      />
      {kind === "time" && (
        <CelField
          label={t("clockFrom")}
          value={clock.from ?? ""}
          names={namesIn(draft)}
          onChange={(from) => onChange({ from })}
          error={refused(check, clock, "from")}
          hint={t("clockFromHint")}
          required
        />
      )}
      {kind === "step" && (
        <StepSelect
          draft={draft}
          label={t("clockFromStep")}
          value={clock.from_step ?? ""}
          onChange={(step) => onChange({ from_step: step })}
        />
      )}
    </>
  );
}

function Extends({ draft, clock, onChange }: FieldProps) {
  const { extend } = clock;
  const gates = draft.steps.filter((step) => step.kind !== "end" && step.kind !== "wait");
  const first = gates.find((step) => step.kind === "gate") ?? gates[0];
  const put = (members: Partial<NonNullable<Clock["extend"]>>) =>
    extend !== undefined && onChange({ extend: { ...extend, ...members } });
  return (
    <>
      <Check
        label={t("clockExtends")}
        checked={extend !== undefined}
        onChange={(on) =>
          onChange({
            extend:
              on && first !== undefined
                ? { at: first.id, decision: "extended", by: "P14D", once_done: first.id }
                : undefined,
          })
        }
      />
      {extend !== undefined && (
        <>
          <StepSelect
            draft={draft}
            label={t("extendAt")}
            value={extend.at}
            onChange={(at) => put({ at })}
          />
          <RequiredText
            label={t("extendDecision")}
            value={extend.decision}
            owner={clock.id}
            onChange={(decision) => put({ decision })}
          />
          <RequiredText
            label={t("extendBy")}
            value={extend.by}
            owner={clock.id}
            onChange={(by) => put({ by })}
          />
          <StepSelect
            draft={draft}
            label={t("extendOnce")}
            value={extend.once_done}
            onChange={(step) => put({ once_done: step })}
          />
        </>
      )}
    </>
  );
}

function StepSelect({
  draft,
  label,
  value,
  onChange,
}: {
  draft: Draft;
  label: string;
  value: string;
  onChange: (step: string) => void;
}) {
  const steps = draft.steps.map((step) => ({ value: step.id, name: nameOf(step) }));
  const known = draft.steps.some((step) => step.id === value);
  return (
    <Field
      label={label}
      value={value}
      options={known ? steps : [{ value, name: value }, ...steps]}
      onChange={onChange}
      required
    />
  );
}

/** Before which clock a gate is due, and how long. */
export function AnchorFields({
  draft,
  deadline,
  onChange,
}: {
  draft: Draft;
  deadline: { clock: string; before: string };
  onChange: (deadline: { clock: string; before: string }) => void;
}) {
  const owner = useId();
  return (
    <>
      <Field
        label={t("anchorClock")}
        value={deadline.clock}
        options={clocksIn(draft).map(({ id, label }) => ({ value: id, name: label }))}
        onChange={(clock) => onChange({ ...deadline, clock })}
        required
      />
      <RequiredText
        label={t("anchorBefore")}
        value={deadline.before}
        owner={owner}
        onChange={(before) => onChange({ ...deadline, before })}
      />
    </>
  );
}

/** Why the law asks nothing more at an end that no act comes before. */
export function EndsClocks({
  draft,
  ends,
  onChange,
}: {
  draft: Draft;
  ends: Record<string, string>;
  onChange: (ends: Record<string, string> | undefined) => void;
}) {
  return clocksIn(draft).map(({ id, label }) => (
    <Field
      key={id}
      label={t("endsClock", { label })}
      value={ends[id] ?? ""}
      hint={t("endsClockHint")}
      onChange={(why) => {
        const { [id]: _before, ...rest } = ends;
        const made = why === "" ? rest : { ...rest, [id]: why };
        onChange(Object.keys(made).length === 0 ? undefined : made);
      }}
    />
  ));
}

/** What the service found wrong with an expression of a clock. */
function refused(check: TemplateCheck | null, clock: Clock, member: string): string | undefined {
  const place = `clocks/${clock.id}/${member}: `;
  const found = check?.violations.find((one) => one.detail.toLowerCase().startsWith(place));
  return (
    found?.detail.slice(place.length) ?? (clock[member] === "" ? common("required") : undefined)
  );
}
