/** What is wrong with the draft, and the fields of the process as a whole. */

import type { Violation } from "../../../api/types";
import { Loading, Note } from "../../../components/Feedback";
import { Field } from "../../../components/Field";
import { Label } from "../../../components/Text";
import { Discard } from "./Discard";
import { type Draft, kindName, nameOf, stepOf } from "./draft/document";
import { keyOf, pathOf, placeOf, type Proof } from "./draft/findings";
import { ClockFields } from "./fields/ClockFields";
import { FunctionFields, ReaderFields } from "./fields/OfficeFields";
import { type Schema, SchemaBuilder } from "./fields/SchemaBuilder";
import { ParsedField, readJson, RequiredText, shown } from "./fields/StepFields";
import type { Editing } from "./draft/useDraft";
import { isDuration } from "../../../text/clocks";
import { durationText } from "../../../text/policy";
import { common } from "../../../text/en/common";
import { editor as t } from "../../../text/en/editor";

function inputsOf(draft: Draft): Schema | null {
  const schema = draft["inputs_schema"] as Schema | undefined;
  const empty = schema === undefined || Object.keys(schema).join() === "type";
  return empty ? null : schema;
}

/** Everything that is wrong, each finding with its step. */
export function Findings({
  editing,
  path,
  onPath,
  onChoose,
}: {
  editing: Editing;
  /** The path that the graph shows. */
  path: string[];
  onPath: (key: string) => void;
  onChoose: (id: string) => void;
}) {
  const { check, malformed, draft } = editing;
  if (malformed !== null)
    return (
      <Note kind="bad" title={t("notATemplate")}>
        <ul>
          {[...malformed.fields].map(([pointer, detail]) => (
            <li key={pointer}>
              <code>{pointer}</code> <Label text={detail} maxLength={300} />
            </li>
          ))}
        </ul>
      </Note>
    );
  if (check === null) return <Loading rows={1} what={t("checking")} />;
  const found: Violation[] = [...check.violations, ...check.warnings];
  const valid = check.valid && <Note kind="good" title={t("valid")} />;
  if (found.length === 0) return valid;
  return (
    <section className="card findings" aria-label={t("findings")}>
      {valid}
      <h2>{common("findings", { count: found.length })}</h2>
      <ul>
        {found.map((one, place) => {
          const at = placeOf(one);
          const known = draft !== null && stepOf(draft, at) !== undefined;
          return (
            <li key={place}>
              {at !== null && known && (
                <button type="button" className="link" onClick={() => onChoose(at)}>
                  <Label text={at} />
                </button>
              )}{" "}
              <Label text={one.detail} maxLength={400} />
              <OnPath one={one} shown={one.path === path} onPath={onPath} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** How long a path takes and its clock gives, and a button that draws it. */
function OnPath({
  one,
  shown,
  onPath,
}: {
  one: Proof;
  shown: boolean;
  onPath: (key: string) => void;
}) {
  if (pathOf(one).length === 0) return null;
  const { takes, within } = one;
  return (
    <p className="small">
      {takes != null &&
        within != null &&
        `${t("takesWithin", { takes: spanName(takes), within: spanName(within) })} `}
      <button
        type="button"
        className="link"
        aria-pressed={shown}
        onClick={() => onPath(keyOf(one))}
      >
        {t("showWay")}
      </button>
    </p>
  );
}

function spanName(text: string): string {
  return isDuration(text) ? durationText(text) : text;
}

export function ProcessPanel({
  editing,
  path,
  onPath,
  onChoose,
}: {
  editing: Editing;
  /** The path that the graph shows. */
  path: string[];
  onPath: (key: string) => void;
  onChoose: (id: string) => void;
}) {
  const { draft, check } = editing;
  if (draft === null) return null;
  const description = typeof draft["description"] === "string" ? draft["description"] : "";
  return (
    <section className="card" aria-label={t("theProcess")}>
      <h2>{t("theProcess")}</h2>
      <RequiredText
        label={t("title")}
        value={draft.title}
        owner=""
        onChange={(title) => editing.change({ ...draft, title })}
      />
      <Field
        label={t("description")}
        rows={3}
        value={description}
        onChange={(text) => editing.change(withMember(draft, "description", text || undefined))}
      />
      <Field
        label={t("firstStep")}
        value={String(draft["start"] ?? draft.steps[0]?.id ?? "")}
        options={draft.steps.map((one) => ({ value: one.id, name: nameOf(one) }))}
        onChange={(start) => editing.change({ ...draft, start })}
        required
      />
      <SchemaBuilder
        legend={t("inputs")}
        owner=""
        schema={inputsOf(draft)}
        onChange={(schema) =>
          editing.change({ ...draft, inputs_schema: schema ?? { type: "object" } })
        }
      />
      <JsonMember
        draft={draft}
        name="example"
        label={t("exampleInputs")}
        hint={t("exampleHint")}
        onChange={editing.change}
      />
      <JsonMember
        draft={draft}
        name="tools"
        label={t("toolSchemas")}
        hint={t("toolSchemasHint", { example: '{"tool": {"input": {…}, "output": {…}}}' })}
        onChange={editing.change}
      />
      <ClockFields draft={draft} check={check} onChange={editing.change}>
        {(id) => {
          const slowest = check?.clocks.find((one) => one.clock === id);
          if (slowest === undefined) return null;
          return <OnPath one={slowest} shown={slowest.path === path} onPath={onPath} />;
        }}
      </ClockFields>
      <FunctionFields draft={draft} onChange={editing.change} />
      <ReaderFields draft={draft} onChange={editing.change} />
      <h3>{t("steps")}</h3>
      <ul className="steps-list">
        {draft.steps.map((step) => (
          <li key={step.id}>
            <button type="button" className="link" onClick={() => onChoose(step.id)}>
              <Label text={step.label} />
            </button>{" "}
            <small className="muted">
              {kindName(step.kind)}
              {check?.gates.includes(step.id) === true &&
                step.kind !== "gate" &&
                `, ${t("personDecides")}`}
            </small>
          </li>
        ))}
      </ul>
      <Discard editing={editing} />
    </section>
  );
}

function JsonMember({
  draft,
  name,
  label,
  hint,
  onChange,
}: {
  draft: Draft;
  name: string;
  label: string;
  hint: string;
  onChange: (draft: Draft) => void;
}) {
  return (
    <ParsedField<unknown>
      label={label}
      rows={3}
      stands={shown(draft[name])}
      owner=""
      read={(text) => {
        const found = readJson(text);
        const wrong = "value" in found && found.value !== undefined && !isObject(found.value);
        return wrong ? { error: common("mustBeJsonObject") } : found;
      }}
      show={shown}
      onChange={(value) => onChange(withMember(draft, name, value))}
      hint={hint}
    />
  );
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The draft with a member of its own; without it where it has no value. */
function withMember(draft: Draft, name: string, value: unknown): Draft {
  const { [name]: _before, ...rest } = draft;
  return (value === undefined ? rest : { ...rest, [name]: value }) as Draft;
}
