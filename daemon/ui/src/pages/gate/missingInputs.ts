/** A form for the inputs that a gate lists as missing. */

import { gate as t } from "../../text/en/gate";
import { useMemo } from "react";
import type { JsonSchema } from "../../api/jsonSchema";
import { getTemplate } from "../../api/resources";
import type { Gate, Run, Values } from "../../api/types";
import { collectValues, type FieldTexts } from "../../components/schemaValues";
import { useLoad } from "../../state/useLoad";

export interface MissingInputs {
  schema: JsonSchema;
  collect: (texts: FieldTexts) => { inputs: Values; errors: Map<string, string> };
  /** Map the service's errors to the fields of the form. */
  fieldErrors: (errors: Map<string, string>) => Map<string, string>;
}

/** A denial takes no inputs. */
export function acceptsInputs(decision: string): boolean {
  return decision !== "denied";
}

/** A form with one field per JSON pointer, at any depth; `needed` makes them required. */
export function missingInputs(
  pointers: string[],
  schema: JsonSchema,
  needed: boolean,
): MissingInputs {
  const found = pointers.map((pointer) => pointerPath(pointer)).filter((names) => names.length > 0);
  const fields: JsonSchema = {
    properties: Object.fromEntries(
      found.map((names) => [names.join("."), schemaAt(schema, names)]),
    ),
    required: needed ? found.map((names) => names.join(".")) : [],
  };
  return {
    schema: fields,
    collect: (texts) => {
      const { inputs, errors } = collectValues(fields, texts, null);
      const placed: Values = {};
      for (const names of found) {
        const value = inputs[names.join(".")];
        if (value !== undefined) setAt(placed, names, value);
      }
      return { inputs: placed, errors };
    },
    fieldErrors: (errors) =>
      new Map(
        [...errors].map(([pointer, error]) => [
          `/inputs/${pointerPath(pointer).slice(1).join(".")}`,
          error,
        ]),
      ),
  };
}

function pointerPath(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((name) => name.replace(/~1/g, "/").replace(/~0/g, "~"));
}

function schemaAt(schema: JsonSchema, names: string[]): JsonSchema {
  let found: JsonSchema | undefined = schema;
  for (const name of names) found = found?.properties?.[name];
  return found ?? { type: "string" };
}

function setAt(into: Values, names: string[], value: unknown): void {
  const [first, ...rest] = names;
  if (first === undefined) return;
  if (rest.length === 0) {
    into[first] = value;
    return;
  }
  const deeper = (into[first] ?? {}) as Values;
  into[first] = deeper;
  setAt(deeper, rest, value);
}

/** The missing inputs of a gate; null if there are none. */
export function useMissingInputs(run: Run, gate: Gate): MissingInputs | null {
  const pointers = gate.missing;
  const { value: detail } = useLoad(`template ${run.vertical}`, () => getTemplate(run.vertical));
  const key = JSON.stringify(pointers);
  return useMemo(
    () =>
      pointers.length === 0
        ? null
        : missingInputs(pointers, detail?.inputs_schema ?? {}, gate.kind === "task"),
    [key, detail, gate.kind],
  );
}

/** Why the content of a call is not known yet. */
export function unknownContent(gate: Gate, step: string): string {
  if (gate.missing.length === 0) return t("contentLater");
  return t(step === gate.step_id ? "contentMissing" : "contentLaterOrMissing");
}
