/** A form made from a JSON Schema: a field for each property, and its words turned into values when it is sent. */

import { number, parse, pretty } from "../json";
import { Exact, type Facts, type Json, type Schema } from "../types";
import { named } from "../words";
import { Field } from "./Field";
import { Label, plain } from "./Text";

export type Texts = Record<string, string>;
type Shape = "text" | "number" | "boolean" | "choice" | "json";

function kinds(schema: Schema): string[] {
  return schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type];
}

function shape(schema: Schema): Shape {
  if (schema.enum !== undefined) return "choice";
  const found = kinds(schema);
  if (found.includes("string")) return "text";
  if (found.includes("number") || found.includes("integer")) return "number";
  return found.includes("boolean") ? "boolean" : "json";
}

export function blanks(schema: Schema): Texts {
  return Object.fromEntries(Object.keys(schema.properties ?? {}).map((name) => [name, ""]));
}

export function filled(schema: Schema, values: Facts): Texts {
  return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, one]) => [name, name in values ? written(one, values[name] ?? null) : ""]));
}

function written(schema: Schema, value: Json): string {
  if (shape(schema) === "choice") return String((schema.enum ?? []).findIndex((one) => one === value));
  if (typeof value === "string") return value;
  if (value instanceof Exact) return value.text;
  return typeof value === "object" ? pretty(value) : String(value);
}

/** What is needed first: whoever starts a run sees at once what they cannot leave out. */
function neededFirst(schema: Schema): [string, Schema][] {
  const later = ([name]: [string, Schema]) => Number(!(schema.required?.includes(name) ?? false));
  return Object.entries(schema.properties ?? {}).sort((one, other) => later(one) - later(other));
}

export function Inputs({ schema, texts, onChange, mistakes }: { schema: Schema; texts: Texts; onChange: (texts: Texts) => void; mistakes: Map<string, string> }) {
  return (
    <>
      {neededFirst(schema).map(([name, one]) => {
        const kind = shape(one);
        const options =
          kind === "boolean"
            ? [{ value: "", name: "Not said" }, { value: "true", name: "Yes" }, { value: "false", name: "No" }]
            : kind === "choice"
              ? [{ value: "", name: "Not said" }, ...(one.enum ?? []).map((value, index) => ({ value: String(index), name: plain(typeof value === "string" ? named(value) : pretty(value)) }))]
              : undefined;
        return (
          <Field
            key={name}
            label={<Label text={one.title ?? named(name)} />}
            value={texts[name] ?? ""}
            onChange={(text) => onChange({ ...texts, [name]: text })}
            required={schema.required?.includes(name) ?? false}
            {...(one.description === undefined ? {} : { hint: <Label text={one.description} most={300} /> })}
            error={mistakes.get(`/inputs/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`)}
            {...(kind === "number" ? { inputMode: "decimal" as const } : {})}
            {...(kind === "json" ? { rows: 4 } : {})}
            {...(options === undefined ? {} : { options })}
          />
        );
      })}
    </>
  );
}

/** The inputs as they are sent. What the page cannot read as a value is a mistake; the rest the service checks. */
export function collect(schema: Schema, texts: Texts, raw: string | null): { inputs: Facts; mistakes: Map<string, string> } {
  const mistakes = new Map<string, string>();
  if (raw !== null) {
    const value = json(raw);
    if (typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact)) return { inputs: value, mistakes };
    return { inputs: {}, mistakes: mistakes.set("/inputs", "is no JSON object") };
  }
  const inputs: Facts = {};
  for (const [name, one] of Object.entries(schema.properties ?? {})) {
    const text = texts[name] ?? "";
    const required = schema.required?.includes(name) ?? false;
    if (text === "") {
      if (required) mistakes.set(`/inputs/${name}`, "is needed");
      continue;
    }
    const value = read(one, text);
    if (value === undefined) mistakes.set(`/inputs/${name}`, shape(one) === "number" ? "is no number" : "is no JSON value");
    else inputs[name] = value;
  }
  return { inputs, mistakes };
}

function read(schema: Schema, text: string): Json | undefined {
  switch (shape(schema)) {
    case "choice":
      return schema.enum?.[Number(text)];
    case "boolean":
      return text === "true";
    case "number":
      return number(text) as Json | undefined;
    case "json":
      return json(text);
    default:
      return kinds(schema).includes("array") && text.trim().startsWith("[") ? (json(text) ?? text) : text;
  }
}

function json(text: string): Json | undefined {
  try {
    return parse(text) as Json;
  } catch {
    return undefined;
  }
}
