/** Converts between JSON values and the texts of form fields, by a JSON Schema. */

import { equal, ExactNumber, isObject, parse, parseNumber, prettyPrint } from "../api/json";
import type { JsonSchema } from "../api/jsonSchema";
import { common } from "../text/en/common";
import { AMBIGUOUS, numberJson, numberText } from "../text/formats";
import { valueError } from "./valueErrors";
import type { Values } from "../api/types";

export type FieldTexts = Record<string, string>;

type FieldKind = "text" | "number" | "boolean" | "choice" | "json";

function typesOf(schema: JsonSchema): string[] {
  return schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type];
}

/** The values that a field offers, with what they are called; null where it is no choice. */
export function choicesOf(schema: JsonSchema): { value: unknown; title: string | null }[] | null {
  if (schema.enum !== undefined) return schema.enum.map((value) => ({ value, title: null }));
  const options = schema.oneOf ?? schema.anyOf;
  return options !== undefined && options.length > 0 && options.every((one) => "const" in one)
    ? options.map((one) => ({ value: one.const, title: one.title ?? null }))
    : null;
}

/** The choices of a list of which several may be chosen; null for other fields. */
export function itemChoices(schema: JsonSchema): { value: unknown; title: string | null }[] | null {
  return schema.type === "array" && schema.items !== undefined ? choicesOf(schema.items) : null;
}

/** The fields of the objects of a list, if each of them is a plain one; null for other lists. */
export function itemFields(schema: JsonSchema): JsonSchema | null {
  const items = schema.type === "array" ? schema.items : undefined;
  return items?.properties !== undefined &&
    Object.values(items.properties).every((one) => fieldKind(one) !== "json")
    ? items
    : null;
}

/** Whether people would have to write JSON for a value: such a field is said to the author. */
export function isDrawn(schema: JsonSchema): boolean {
  return (
    fieldKind(schema) !== "json" ||
    isListOfTexts(schema) ||
    itemChoices(schema) !== null ||
    itemFields(schema) !== null ||
    (schema.properties !== undefined && Object.values(schema.properties).every(isDrawn))
  );
}

/** The names of the fields that people would have to fill in as JSON. */
export function undrawn(schema: JsonSchema): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    property.properties !== undefined
      ? undrawn(property).map((inner) => `${name}.${inner}`)
      : isDrawn(property)
        ? []
        : [name],
  );
}

export function fieldKind(schema: JsonSchema): FieldKind {
  if (choicesOf(schema) !== null) return "choice";
  const found = typesOf(schema);
  if (found.includes("string")) return "text";
  if (found.includes("number") || found.includes("integer")) return "number";
  return found.includes("boolean") ? "boolean" : "json";
}

/** A form that nobody has filled in: its defaults. */
export function emptyTexts(schema: JsonSchema): FieldTexts {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, property]) => [
      name,
      property.default === undefined ? "" : toText(property, property.default),
    ]),
  );
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
    return String((choicesOf(schema) ?? []).findIndex((choice) => equal(choice.value, value)));
  if (isListOfTexts(schema) && Array.isArray(value)) return value.join("\n");
  if (typeof value === "string") return schema.format === "date-time" ? localTime(value) : value;
  if (value instanceof ExactNumber) return numberText(value.text);
  if (typeof value === "number") return numberText(String(value));
  return typeof value === "object" ? prettyPrint(value) : String(value);
}

/** Convert the form's texts to values, and find all that is wrong with them, by JSON pointer. */
export function collectValues(
  schema: JsonSchema,
  texts: FieldTexts,
  raw: string | null,
  at = "/inputs",
): { inputs: Values; errors: Map<string, string> } {
  const errors = new Map<string, string>();
  if (raw !== null) {
    const value = parseJson(raw);
    if (isObject(value)) return { inputs: value, errors };
    return { inputs: {}, errors: errors.set(at, common("mustBeJsonObject")) };
  }
  const inputs: Values = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const text = texts[name] ?? "";
    const pointer = `${at}/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`;
    if (text === "") {
      if (schema.required?.includes(name) === true) errors.set(pointer, common("required"));
      continue;
    }
    const value = parseText(property, text);
    const wrong =
      value === undefined ? common(wrongWord(property, text)) : valueError(property, value);
    if (wrong !== null) errors.set(pointer, wrong);
    if (value !== undefined) inputs[name] = value;
  }
  return { inputs, errors };
}

function wrongWord(schema: JsonSchema, text: string) {
  if (fieldKind(schema) !== "number") return "mustBeJson";
  return numberJson(text) === AMBIGUOUS ? "twoNumbers" : "mustBeNumber";
}

function parseText(schema: JsonSchema, text: string): unknown {
  switch (fieldKind(schema)) {
    case "choice":
      return choicesOf(schema)?.[Number(text)]?.value;
    case "boolean":
      return text === "true";
    case "number":
      return parseNumber(numberJson(text));
    case "json":
      return isListOfTexts(schema) && !text.trim().startsWith("[")
        ? text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]))
        : parseJson(text);
    default:
      return typesOf(schema).includes("array") && text.trim().startsWith("[")
        ? (parseJson(text) ?? text)
        : schema.format === "date-time"
          ? worldTime(text)
          : text;
  }
}

/** Whether a value is a list of texts, which is entered one per line. */
export function isListOfTexts(schema: JsonSchema): boolean {
  return fieldKind(schema) === "json" && schema.items?.type === "string";
}

/** A moment as a field for date and time has it; what is none stays as it is. */
function localTime(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const here = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString();
  return here.slice(0, here.endsWith(":00.000Z") ? 16 : 19);
}

/** A moment of such a field as the contract has it. */
function worldTime(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString().replace(".000Z", "Z");
}

function parseJson(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
