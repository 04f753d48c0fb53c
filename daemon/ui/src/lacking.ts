/** Inputs that a gate names as missing: a form for just those, and their values where they belong. */

import { collect, type Texts } from "./parts/Inputs";
import type { Facts, Json, Schema } from "./types";

export interface Lacking {
  schema: Schema;
  collect: (texts: Texts) => { inputs: Facts; mistakes: Map<string, string> };
  /** What the service says of them, at the fields of the form. */
  told: (mistakes: Map<string, string>) => Map<string, string>;
}

/** Whether inputs go along with a decision: none are of use to one that ends the matter. */
export function asksInputs(decision: string): boolean {
  return decision !== "denied";
}

/** The form for what is missing: a field for each pointer, whatever depth it points to; `needed` where nothing goes on without. */
export function lackingOf(pointers: string[], schema: Schema, needed: boolean): Lacking {
  const found = pointers.map((pointer) => path(pointer)).filter((names) => names.length > 0);
  const fields: Schema = { properties: Object.fromEntries(found.map((names) => [names.join("."), at(schema, names)])), required: needed ? found.map((names) => names.join(".")) : [] };
  return {
    schema: fields,
    collect: (texts) => {
      const { inputs, mistakes } = collect(fields, texts, null);
      const placed: Facts = {};
      for (const names of found) {
        const value = inputs[names.join(".")];
        if (value !== undefined) put(placed, names, value);
      }
      return { inputs: placed, mistakes };
    },
    told: (mistakes) => new Map([...mistakes].map(([pointer, mistake]) => [`/inputs/${path(pointer).slice(1).join(".")}`, mistake])),
  };
}

function path(pointer: string): string[] {
  return pointer.split("/").slice(1).map((name) => name.replace(/~1/g, "/").replace(/~0/g, "~"));
}

function at(schema: Schema, names: string[]): Schema {
  let found: Schema | undefined = schema;
  for (const name of names) found = found?.properties?.[name];
  return found ?? { type: "string" };
}

function put(into: Facts, names: string[], value: Json): void {
  const [first, ...rest] = names;
  if (first === undefined) return;
  if (rest.length === 0) {
    into[first] = value;
    return;
  }
  const deeper = (into[first] ?? {}) as Facts;
  into[first] = deeper;
  put(deeper, rest, value);
}
