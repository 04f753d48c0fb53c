/** JSON without loss of digits. */

/** A number that JavaScript would round, kept as written. */
export class ExactNumber {
  constructor(readonly text: string) {}
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof ExactNumber)
  );
}

type Reviver = (
  this: unknown,
  key: string,
  value: unknown,
  context?: { source?: string },
) => unknown;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
/** Where a number of many digits or with an exponent may stand: it alone can lose precision. */
const LONG = /[:,[\s]-?(?:\d[\d.]{15,}|[\d.]+[eE])|^-?\d/;

export function parse(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text); // three times as fast
  const keep: Reviver = (_key, value, context) =>
    typeof value === "number" &&
    context?.source !== undefined &&
    losesPrecision(value, context.source)
      ? new ExactNumber(context.source)
      : value;
  return JSON.parse(text, keep as (this: unknown, key: string, value: unknown) => unknown);
}

/** A text as a JSON object with all digits of its numbers; null for any other. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value = parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const DIGITS = 15;

/** Whether JavaScript would round a number; `10.0` is 10. */
function losesPrecision(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return true;
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(value);
  return (
    source.replace(/e.*$/i, "").replace(/\D/g, "").replace(/^0+/, "").length > DIGITS &&
    String(value) !== source
  );
}

export function stringify(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value))
    return `[${value.map((item) => stringify(item === undefined ? null : item)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** JSON with indentation. */
export function prettyPrint(value: unknown, indent = ""): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((item) => deeper + prettyPrint(item, deeper)).join(",\n")}\n${indent}]`;
  }
  if (isObject(value)) {
    const members = Object.entries(value);
    if (members.length === 0) return "{}";
    const lines = members.map(
      ([name, member]) => `${deeper}${JSON.stringify(name)}: ${prettyPrint(member, deeper)}`,
    );
    return `{\n${lines.join(",\n")}\n${indent}}`;
  }
  return stringify(value);
}

/** Parse a number; undefined if the text is none. */
export function parseNumber(text: string): number | ExactNumber | undefined {
  const trimmed = text.trim();
  if (!NUMBER.test(trimmed) || /^-?0\d/.test(trimmed)) return undefined;
  return losesPrecision(Number(trimmed), trimmed) ? new ExactNumber(trimmed) : Number(trimmed);
}

export function equal(a: unknown, b: unknown): boolean {
  return stringify(a) === stringify(b);
}
