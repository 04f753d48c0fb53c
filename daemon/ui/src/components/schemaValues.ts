/** Converts between JSON values and the texts of form fields, by a JSON Schema. */

import { ExactNumber, isObject, parse, parseNumber, prettyPrint } from "../api/json";
import type { JsonSchema } from "../api/jsonSchema";
import { common } from "../text/en/common";
import type { Values } from "../api/types";

export type FieldTexts = Record<string, string>;

type FieldKind = "text" | "number" | "boolean" | "choice" | "json";

function typesOf(schema: JsonSchema): string[] {
  return schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type];
}

export function fieldKind(schema: JsonSchema): FieldKind {
  if (schema.enum !== undefined) return "choice";
  const found = typesOf(schema);
  if (found.includes("string")) return "text";
  if (found.includes("number") || found.includes("integer")) return "number";
  return found.includes("boolean") ? "boolean" : "json";
}

export function emptyTexts(schema: JsonSchema): FieldTexts {
  return Object.fromEntries(Object.keys(schema.properties ?? {}).map((name) => [name, ""]));
}

export function textsFrom(schema: JsonSchema, values: Values): FieldTexts {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, property]) => [
      name,
      name in values ? toText(property, values[name] ?? null) : "",
    ]),
  );
}

function toText(schema: JsonSchema, value: unknown): string {
  if (fieldKind(schema) === "choice")
    return String((schema.enum ?? []).findIndex((choice) => choice === value));
  if (typeof value === "string") return value;
  if (value instanceof ExactNumber) return value.text;
  return typeof value === "object" ? prettyPrint(value) : String(value);
}

/**
 * Convert the form's texts to inputs. Only what cannot be parsed is an error here; the service
 * validates the rest.
 */
export function collectValues(
  schema: JsonSchema,
  texts: FieldTexts,
  raw: string | null,
): { inputs: Values; errors: Map<string, string> } {
  const errors = new Map<string, string>();
  if (raw !== null) {
    const value = parseJson(raw);
    if (isObject(value)) return { inputs: value, errors };
    return { inputs: {}, errors: errors.set("/inputs", common("mustBeJsonObject")) };
  }
  const inputs: Values = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const text = texts[name] ?? "";
    const required = schema.required?.includes(name) ?? false;
    if (text === "") {
      if (required) errors.set(`/inputs/${name}`, common("required"));
      continue;
    }
    const value = parseText(property, text);
    if (value === undefined)
      errors.set(
        `/inputs/${name}`,
        common(fieldKind(property) === "number" ? "mustBeNumber" : "mustBeJson"),
      );
    else inputs[name] = value;
  }
  return { inputs, errors };
}

/** The values of a form; what cannot be parsed stays text, so that the service says what is wrong. */
export function formValues(schema: JsonSchema, texts: FieldTexts): Values {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const text = texts[name] ?? "";
      return text === "" ? [] : [[name, parseText(property, text) ?? text]];
    }),
  );
}

function parseText(schema: JsonSchema, text: string): unknown {
  switch (fieldKind(schema)) {
    case "choice":
      return schema.enum?.[Number(text)];
    case "boolean":
      return text === "true";
    case "number":
      return parseNumber(text);
    case "json":
      return isListOfTexts(schema) && !text.trim().startsWith("[")
        ? text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]))
        : parseJson(text);
    default:
      return typesOf(schema).includes("array") && text.trim().startsWith("[")
        ? (parseJson(text) ?? text)
        : text;
  }
}

/** Whether a value is a list of texts, which is entered one per line. */
export function isListOfTexts(schema: JsonSchema): boolean {
  return fieldKind(schema) === "json" && schema.items?.type === "string";
}

function parseJson(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
