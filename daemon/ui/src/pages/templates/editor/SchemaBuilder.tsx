/** Fields of a form or of the inputs, built one by one instead of written as JSON Schema. */

import { Check, Field } from "../../../components/Field";
import { Icon } from "../../../components/Icon";

export type Schema = Record<string, unknown>;

interface Row {
  name: string;
  title: string;
  type: string;
  choices: string;
  required: boolean;
}

const TYPES: { value: string; name: string }[] = [
  { value: "string", name: "text" },
  { value: "date", name: "date" },
  { value: "number", name: "number" },
  { value: "integer", name: "whole number" },
  { value: "boolean", name: "yes or no" },
  { value: "choice", name: "one of several" },
];
const PLAIN = new Set(["type", "title", "format", "enum"]);
const WHOLE = new Set(["type", "properties", "required", "x-order"]);

export function SchemaBuilder({
  schema,
  onChange,
  legend,
}: {
  schema: Schema | null;
  onChange: (schema: Schema | undefined) => void;
  legend: string;
}) {
  const rows = rowsOf(schema);
  if (rows === null)
    return (
      <fieldset className="ways">
        <legend>{legend}</legend>
        <p className="hint">It says more than can be shown here; write it in the text view.</p>
      </fieldset>
    );
  const put = (made: Row[]) => onChange(made.length === 0 ? undefined : schemaOf(made));
  const set = (place: number, members: Partial<Row>) =>
    put(rows.map((row, other) => (other === place ? { ...row, ...members } : row)));
  return (
    <fieldset className="ways">
      <legend>{legend}</legend>
      {rows.map((row, place) => (
        <div className="way" key={place}>
          <Field
            label={`Name of field ${place + 1}`}
            value={row.name}
            onChange={(name) => set(place, { name: free(rows, place, name) })}
            required
          />
          <Field
            label={`Title of field ${place + 1}`}
            value={row.title}
            onChange={(title) => set(place, { title })}
          />
          <Field
            label={`Type of field ${place + 1}`}
            value={row.type}
            options={TYPES}
            onChange={(type) => set(place, { type })}
            required
          />
          {row.type === "choice" && (
            <Field
              label={`Choices of field ${place + 1}`}
              value={row.choices}
              onChange={(choices) => set(place, { choices })}
              hint="Separated by commas"
              required
            />
          )}
          <Check
            label={`Field ${place + 1} has to be filled in`}
            checked={row.required}
            onChange={(required) => set(place, { required })}
          />
          <button
            type="button"
            className="button icon-only"
            aria-label={`Remove field ${place + 1}`}
            onClick={() => put(rows.filter((_, other) => other !== place))}
          >
            <Icon name="close" size={16} />
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
              name: free(rows, -1, "field"),
              title: "",
              type: "string",
              choices: "",
              required: false,
            },
          ])
        }
      >
        <Icon name="plus" size={16} /> Add a field
      </button>
    </fieldset>
  );
}

/** The name, with a number behind it where another field has it. */
function free(rows: Row[], place: number, name: string): string {
  const taken = new Set(rows.filter((_, other) => other !== place).map((row) => row.name));
  if (!taken.has(name)) return name;
  for (let number = 2; ; number += 1)
    if (!taken.has(`${name}-${number}`)) return `${name}-${number}`;
}

/** The fields of a schema; null where it says what fields cannot. */
function rowsOf(schema: Schema | null): Row[] | null {
  if (schema === null) return [];
  if (Object.keys(schema).some((word) => !WHOLE.has(word))) return null;
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
      choices: Array.isArray(one["enum"]) ? one["enum"].join(", ") : "",
      required: required.includes(name),
    });
  }
  return rows;
}

function typeOf(one: Schema): string | null {
  if (Object.keys(one).some((word) => !PLAIN.has(word))) return null;
  const { type, format } = one;
  if (Array.isArray(one["enum"]))
    return one["enum"].every((value) => typeof value === "string") ? "choice" : null;
  if (type === "string" && format === "date") return "date";
  if (format !== undefined) return null;
  return TYPES.some(({ value }) => value === type) ? String(type) : null;
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

function propertyOf(row: Row): Schema {
  const title = row.title === "" ? {} : { title: row.title };
  if (row.type === "date") return { type: "string", format: "date", ...title };
  if (row.type !== "choice") return { type: row.type, ...title };
  const choices = row.choices.split(",").map((choice) => choice.trim());
  return { enum: choices.filter((choice) => choice !== ""), ...title };
}
