/** Fields of a form or of the inputs, built one by one instead of written as JSON Schema. */

import type { JsonSchema } from "../../../../api/jsonSchema";
import { Note } from "../../../../components/Feedback";
import { Check, Field } from "../../../../components/Field";
import { Icon } from "../../../../components/Icon";
import { undrawn } from "../../../../components/schemaValues";
import { namesOf, ParsedField, type Read } from "./StepFields";
import { common } from "../../../../text/en/common";
import { editor as t } from "../../../../text/en/editor";

export type Schema = Record<string, unknown>;

interface Row {
  name: string;
  title: string;
  type: string;
  choices: string[];
  required: boolean;
  /** What else the schema says of a value; fields keep it. */
  more: Schema;
}

const TYPES = ["string", "date", "number", "integer", "boolean", "choice"] as const;
const PLAIN = new Set(["type", "title", "format", "enum"]);
/** What is kept as it is while the type stays. */
const KEPT = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "description",
  "default",
]);
const WHOLE = new Set(["type", "properties", "required", "x-order"]);
const WHOLE_KEPT = new Set(["$schema", "title", "description", "additionalProperties"]);

export function SchemaBuilder({
  schema,
  onChange,
  legend,
  owner,
}: {
  schema: Schema | null;
  onChange: (schema: Schema | undefined) => void;
  legend: string;
  /** What the fields belong to. */
  owner: string;
}) {
  const rows = rowsOf(schema);
  if (rows === null)
    return (
      <fieldset className="ways">
        <legend>{legend}</legend>
        <p className="hint">{t("schemaTooRich")}</p>
        <Undrawn schema={schema} />
      </fieldset>
    );
  const whole = Object.entries(schema ?? {}).filter(([word]) => WHOLE_KEPT.has(word));
  const put = (made: Row[]) =>
    onChange(made.length === 0 ? undefined : { ...Object.fromEntries(whole), ...schemaOf(made) });
  const set = (place: number, members: Partial<Row>) =>
    put(rows.map((row, other) => (other === place ? { ...row, ...members } : row)));
  return (
    <fieldset className="ways">
      <legend>{legend}</legend>
      {rows.map((row, place) => (
        <div className="way" key={place}>
          <ParsedField<string>
            label={t("fieldName", { place: place + 1 })}
            stands={row.name}
            owner={owner}
            read={(text) => readName(rows, place, text)}
            show={(name) => name}
            onChange={(name) => set(place, { name })}
            required
          />
          <Field
            label={t("fieldTitle", { place: place + 1 })}
            value={row.title}
            onChange={(title) => set(place, { title })}
          />
          <Field
            label={t("fieldType", { place: place + 1 })}
            value={row.type}
            options={TYPES.map((value) => ({ value, name: t(`type.${value}`) }))}
            onChange={(type) => set(place, { type, more: {} })}
            required
            {...(Object.keys(row.more).length === 0 ? {} : { hint: moreText(row.more) })}
          />
          {row.type === "choice" && (
            <ParsedField<string[]>
              label={t("fieldChoices", { place: place + 1 })}
              stands={row.choices.join(", ")}
              owner={owner}
              read={readChoices}
              show={(choices) => choices.join(", ")}
              onChange={(choices) => set(place, { choices })}
              hint={t("commas")}
              required
            />
          )}
          <Check
            label={t("fieldRequired", { place: place + 1 })}
            checked={row.required}
            onChange={(required) => set(place, { required })}
          />
          <button
            type="button"
            className="button"
            aria-label={t("removeField", { place: place + 1 })}
            onClick={() => put(rows.filter((_, other) => other !== place))}
          >
            <Icon name="close" size={16} /> {t("remove")}
          </button>
        </div>
      ))}
      <button
        type="button"
        className="button"
        onClick={() =>
          put([
            ...rows,
            {
              name: freeName(rows),
              title: "",
              type: "string",
              choices: [],
              required: false,
              more: {},
            },
          ])
        }
      >
        <Icon name="plus" size={16} /> {t("addField")}
      </button>
    </fieldset>
  );
}

/** The fields that people would have to fill in as JSON. */
function Undrawn({ schema }: { schema: Schema | null }) {
  const names = undrawn((schema ?? {}) as JsonSchema);
  if (names.length === 0) return null;
  return <Note kind="warn" title={t("filledAsJson", { names: names.join(", ") })} />;
}

function freeName(rows: Row[]): string {
  const taken = new Set(rows.map((row) => row.name));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? "field" : `field_${number}`;
    if (!taken.has(name)) return name;
  }
}

function readName(rows: Row[], place: number, text: string): Read<string> {
  if (text === "") return { error: common("required") };
  const taken = rows.some((row, other) => other !== place && row.name === text);
  return taken ? { error: t("nameTaken") } : { value: text };
}

function readChoices(text: string): Read<string[]> {
  const choices = namesOf(text);
  return choices.length === 0 ? { error: t("atLeastOne") } : { value: choices };
}

/** The fields of a schema; null where it says what fields cannot. */
function rowsOf(schema: Schema | null): Row[] | null {
  if (schema === null) return [];
  if (Object.keys(schema).some((word) => !WHOLE.has(word) && !WHOLE_KEPT.has(word))) return null;
  const properties = (schema["properties"] ?? {}) as Record<string, Schema>;
  const required = (schema["required"] ?? []) as string[];
  const order = (schema["x-order"] ?? Object.keys(properties)) as string[];
  const rows: Row[] = [];
  for (const name of order) {
    const one = properties[name];
    const type = one === undefined ? null : typeOf(one);
    if (one === undefined || type === null) return null;
    rows.push({
      name,
      type,
      title: typeof one["title"] === "string" ? one["title"] : "",
      choices: Array.isArray(one["enum"]) ? (one["enum"] as string[]) : [],
      required: required.includes(name),
      more: Object.fromEntries(Object.entries(one).filter(([word]) => KEPT.has(word))),
    });
  }
  return rows;
}

function typeOf(one: Schema): string | null {
  if (Object.keys(one).some((word) => !PLAIN.has(word) && !KEPT.has(word))) return null;
  const { type, format } = one;
  if (Array.isArray(one["enum"]))
    return one["enum"].every((value) => typeof value === "string") ? "choice" : null;
  if (type === "string" && format === "date") return "date";
  if (format !== undefined) return null;
  return TYPES.some((one) => one === type) ? String(type) : null;
}

function schemaOf(rows: Row[]): Schema {
  const required = rows.filter((row) => row.required).map((row) => row.name);
  return {
    type: "object",
    properties: Object.fromEntries(rows.map((row) => [row.name, propertyOf(row)])),
    ...(required.length === 0 ? {} : { required }),
    "x-order": rows.map((row) => row.name),
  };
}

/** “minimum: 0, default: 5”: the words of the schema, as authors write them. */
function moreText(more: Schema): string {
  return Object.entries(more)
    .map(([word, value]) => `${word}: ${JSON.stringify(value)}`)
    .join(", ");
}

function propertyOf(row: Row): Schema {
  const title = { ...row.more, ...(row.title === "" ? {} : { title: row.title }) };
  if (row.type === "date") return { type: "string", format: "date", ...title };
  if (row.type !== "choice") return { type: row.type, ...title };
  return { enum: row.choices.length === 0 ? ["yes", "no"] : row.choices, ...title };
}
