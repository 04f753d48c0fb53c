/** JSON without loss: a number that JavaScript would round stays as it was written. */

import { Exact, type Json } from "./types";

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

export function parse(text: string): unknown {
  const keep: Reviver = (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined && rounded(value, context.source)
      ? new Exact(context.source)
      : value;
  return JSON.parse(text, keep as (this: unknown, key: string, value: unknown) => unknown);
}

const DIGITS = 15;

/** Whether JavaScript cannot hold a number as it was written; `10.0` is 10. */
function rounded(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return true;
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(value);
  return source.replace(/e.*$/i, "").replace(/\D/g, "").replace(/^0+/, "").length > DIGITS && String(value) !== source;
}

export function write(value: unknown): string {
  if (value instanceof Exact) return value.text;
  if (Array.isArray(value)) return `[${value.map((one) => write(one === undefined ? null : one)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, one]) => one !== undefined);
    return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${write(one)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** The same, for people to read. */
export function pretty(value: Json, indent = ""): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((one) => deeper + pretty(one, deeper)).join(",\n")}\n${indent}]`;
  }
  if (typeof value === "object" && value !== null && !(value instanceof Exact)) {
    const members = Object.entries(value);
    if (members.length === 0) return "{}";
    const lines = members.map(([name, one]) => `${deeper}${JSON.stringify(name)}: ${pretty(one, deeper)}`);
    return `{\n${lines.join(",\n")}\n${indent}}`;
  }
  return write(value);
}

/** A number as it was typed; undefined when it is none. */
export function number(text: string): number | Exact | undefined {
  const trimmed = text.trim();
  if (!NUMBER.test(trimmed) || /^-?0\d/.test(trimmed)) return undefined;
  return rounded(Number(trimmed), trimmed) ? new Exact(trimmed) : Number(trimmed);
}

export function same(one: unknown, other: unknown): boolean {
  return write(one) === write(other);
}
