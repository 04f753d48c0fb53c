/** The fields that only steps of one kind have. */

import { effectLabel, tierLabel } from "../../../../text/labels";
import { useId } from "react";
import { getConnectors } from "../../../../api/resources";
import type { TemplateCheck } from "../../../../api/types";
import { Check, Field } from "../../../../components/Field";
import { useLoad } from "../../../../state/useLoad";
import { EndsClocks } from "./ClockFields";
import { CelField } from "./CelField";
import { type Draft, nameOf, type Step } from "../draft/document";
import { CONDITION } from "../draft/findings";
import { clockNames, namesIn, outputsOf } from "../draft/names";
import { JsonField, ListField, textOf } from "./StepFields";
import { common } from "../../../../text/en/common";
import { editor as t } from "../../../../text/en/editor";

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

const tiers = (...ids: string[]) => ids.map((value) => ({ value, name: tierLabel(value) }));
const allTiers = () => tiers("low", "medium", "high", "critical");
const effects = () =>
  ["read", "reversible", "irreversible"].map((value) => ({ value, name: effectLabel(value) }));
const flows = () =>
  (["exclusive", "parallel"] as const).map((value) => ({ value, name: t(`flow.${value}`) }));

export function KindFields(props: Props) {
  const { step } = props;
  switch (step.kind) {
    case "task":
      return <TaskFields {...props} />;
    case "gate":
      return (
        <Select
          {...props}
          name="tier"
          label={t("tier")}
          options={tiers("high", "critical")}
          or="high"
        />
      );
    case "gateway":
      return (
        <>
          <Select {...props} name="flow" label={t("routing")} options={flows()} or="exclusive" />
          <Select {...props} name="tier" label={t("tier")} options={allTiers()} or="low" />
          <Needs {...props} />
        </>
      );
    case "wait":
      return <WaitFields {...props} />;
    default:
      return (
        <>
          <Text {...props} name="outcome" label={t("outcome")} hint={t("outcomeHint")} />
          <Check
            label={t("compensateAll")}
            checked={step["compensate"] === true}
            onChange={(undo) => props.set({ compensate: undo || undefined })}
          />
          <EndsClocks
            draft={props.draft}
            ends={(step["ends_clocks"] as Record<string, string> | undefined) ?? {}}
            onChange={(ends) => props.set({ ends_clocks: ends })}
          />
        </>
      );
  }
}

function TaskFields(props: Props) {
  const { draft, step, check, set } = props;
  const others = draft.steps.filter((one) => one.id !== step.id);
  const offered =
    "effect" in step ? effects() : [{ value: "", name: common("notSet") }, ...effects()];
  const steps = others.map((one) => ({ value: one.id, name: nameOf(one) }));
  return (
    <>
      <ToolField step={step} set={set} />
      <Select {...props} name="effect" label={t("effect")} options={offered} or="" />
      <Select {...props} name="tier" label={t("tier")} options={allTiers()} or="low" />
      <Needs {...props} />
      <CelField
        label={t("signalWhen")}
        value={textOf(step["signal_when"])}
        names={outputsOf(draft, step)}
        onChange={(value) => set({ signal_when: value })}
        error={refusedCondition(check, step, step["signal_when"])}
        hint={t("signalHint")}
      />
      <Field
        label={t("onError")}
        value={textOf(step["on_error"])}
        options={[{ value: "", name: t("runFails") }, ...steps]}
        onChange={(value) => set({ on_error: value })}
        required
      />
      <Text
        {...props}
        name="compensate"
        label={t("compensationTool")}
        hint={t("compensationHint")}
      />
      <JsonField
        step={step}
        set={set}
        name="dry_run"
        label={t("dryRunOutput")}
        hint={t("dryRunHint", {
          example:
            '[{"when": "inputs.amount > 500.0", "output": {"ok": false}}, {"output": {"ok": true}}]',
        })}
      />
    </>
  );
}

function WaitFields(props: Props) {
  const { draft, step, check, set } = props;
  return (
    <>
      <p className="hint">{t("waitHint")}</p>
      <Text {...props} name="for" label={t("duration")} hint={t("durationHint")} />
      <CelField
        label={t("until")}
        value={textOf(step["until"])}
        names={[...namesIn(draft), ...clockNames(draft)]}
        onChange={(until) => set({ until })}
        error={refusedCondition(check, step, step["until"])}
        hint={t("untilHint")}
      />
      <Text {...props} name="message" label={t("message")} hint={t("messageHint")} />
      <Text {...props} name="within" label={t("messageTimeout")} hint={t("messageTimeoutHint")} />
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
      label={t("requiredData")}
      hint={t("requiredDataHint")}
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
      <label htmlFor={id}>{t("tool")}</label>
      <p className="hint" id={`${id}-hint`}>
        {tool === "" || value === null
          ? t("toolHint")
          : connector === undefined
            ? t("toolUnknown")
            : connector.reversible
              ? t("toolLive")
              : t("toolShadow")}
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
