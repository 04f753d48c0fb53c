/** JSON without loss: a number that JavaScript would round stays as it was written. */

/** A number that JavaScript would round: the page shows it and sends it as it was written. */
export class ExactNumber {
  constructor(readonly text: string) {}
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

export function parse(text: string): unknown {
  const keep: Reviver = (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined && losesPrecision(value, context.source)
      ? new ExactNumber(context.source)
      : value;
  return JSON.parse(text, keep as (this: unknown, key: string, value: unknown) => unknown);
}

const DIGITS = 15;

/** Whether JavaScript cannot hold a number as it was written; `10.0` is 10. */
function losesPrecision(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return true;
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(value);
  return source.replace(/e.*$/i, "").replace(/\D/g, "").replace(/^0+/, "").length > DIGITS && String(value) !== source;
}

export function stringify(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map((one) => stringify(one === undefined ? null : one)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, one]) => one !== undefined);
    return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${stringify(one)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** The same, for people to read. */
export function prettyPrint(value: unknown, indent = ""): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((one) => deeper + prettyPrint(one, deeper)).join(",\n")}\n${indent}]`;
  }
  if (isObject(value)) {
    const members = Object.entries(value);
    if (members.length === 0) return "{}";
    const lines = members.map(([name, one]) => `${deeper}${JSON.stringify(name)}: ${prettyPrint(one, deeper)}`);
    return `{\n${lines.join(",\n")}\n${indent}}`;
  }
  return stringify(value);
}

/** A number as it was typed; undefined when it is none. */
export function parseNumber(text: string): number | ExactNumber | undefined {
  const trimmed = text.trim();
  if (!NUMBER.test(trimmed) || /^-?0\d/.test(trimmed)) return undefined;
  return losesPrecision(Number(trimmed), trimmed) ? new ExactNumber(trimmed) : Number(trimmed);
}

export function equal(one: unknown, other: unknown): boolean {
  return stringify(one) === stringify(other);
}
