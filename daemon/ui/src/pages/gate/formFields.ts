/** The fields of a gate's form: those inside objects stand beside the others, in the schema's order. */

import type { JsonSchema } from "../../api/jsonSchema";
import type { Values } from "../../api/types";
import { collectValues, type FieldTexts } from "../../components/schemaValues";
import { humanize } from "../../text/labels";

export interface FormFields {
  schema: JsonSchema;
  collect: (texts: FieldTexts) => { values: Values; errors: Map<string, string> };
  /** Map the service's errors to the fields of the form. */
  fieldErrors: (errors: Map<string, string>) => Map<string, string>;
}

interface Leaf {
  names: string[];
  schema: JsonSchema;
  required: boolean;
}

export function formFields(form: JsonSchema): FormFields {
  const leaves = leavesOf(form, [], true);
  const key = ({ names }: Leaf) => names.join(".");
  const schema: JsonSchema = {
    properties: Object.fromEntries(leaves.map((leaf) => [key(leaf), titled(leaf)])),
    required: leaves.filter((leaf) => leaf.required).map(key),
    "x-order": leaves.map(key),
  };
  return {
    schema,
    collect: (texts) => {
      const { inputs: flat, errors } = collectValues(schema, texts, null, "/form");
      const values: Values = {};
      for (const leaf of leaves) if (key(leaf) in flat) setAt(values, leaf.names, flat[key(leaf)]);
      return { values, errors };
    },
    fieldErrors: (errors) =>
      new Map(
        [...errors].map(([pointer, error]) => {
          const names = pointer.split("/").slice(2);
          const found = leaves.find((leaf) => leaf.names.every((name, at) => names[at] === name));
          return [found === undefined ? pointer : `/form/${key(found)}`, error];
        }),
      ),
  };
}

/** The properties that hold no further ones. */
function leavesOf(schema: JsonSchema, names: string[], required: boolean): Leaf[] {
  const order = schema["x-order"] ?? Object.keys(schema.properties ?? {});
  return order.flatMap((name) => {
    const property = schema.properties?.[name];
    if (property === undefined) return [];
    const needed = required && (schema.required?.includes(name) ?? false);
    const path = [...names, name];
    return property.properties === undefined
      ? [{ names: path, schema: property, required: needed }]
      : leavesOf(property, path, needed);
  });
}

/** “Address: Street” for a property inside another. */
function titled({ names, schema }: Leaf): JsonSchema {
  const own = schema.title ?? humanize(names.at(-1) ?? "");
  const around = names.slice(0, -1).map(humanize);
  return { ...schema, title: [...around, own].join(": ") };
}

function setAt(into: Values, [first, ...rest]: string[], value: unknown): void {
  if (first === undefined) return;
  if (rest.length === 0) into[first] = value;
  else {
    const deeper = (into[first] ?? {}) as Values;
    into[first] = deeper;
    setAt(deeper, rest, value);
  }
}
