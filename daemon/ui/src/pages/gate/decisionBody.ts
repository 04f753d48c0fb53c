/** What a decision brings beside itself: tool output, missing inputs, form, code and comment. */

import type { JsonSchema } from "../../api/jsonSchema";
import { equal, parseObject } from "../../api/json";
import type { Gate, GateAction, Values } from "../../api/types";
import { emptyTexts, type FieldTexts } from "../../components/schemaValues";
import { common } from "../../text/en/common";
import { formFields } from "./formFields";
import { acceptsInputs, type MissingInputs } from "./missingInputs";
import { parseToolOutput } from "./toolOutput";

export interface DecisionTexts {
  comment: string;
  code: string;
  output: string;
  /** Of an action, as JSON; empty where they stay as they are. */
  arguments: string;
  inputs: FieldTexts;
  form: FieldTexts;
}

const NO_TEXTS: DecisionTexts = {
  comment: "",
  code: "",
  output: "",
  arguments: "",
  inputs: {},
  form: {},
};
/** The texts of a decision that nobody has begun: the defaults of the form. */
export function initialTexts({ policy }: Gate): DecisionTexts {
  const form = policy.form as JsonSchema | null;
  return form === null ? NO_TEXTS : { ...NO_TEXTS, form: emptyTexts(formFields(form).schema) };
}

const WITHOUT_FORM = ["denied", "retry", "done"];

/** The schema of the form that a decision asks for, if it asks for one. */
export function formSchema({ policy }: Gate, decision: string): JsonSchema | null {
  return decision === "" || WITHOUT_FORM.includes(decision)
    ? null
    : (policy.form as JsonSchema | null);
}

export function needsComment({ policy }: Gate, decision: string): boolean {
  return policy.comment === "always" || (policy.comment === "on-denial" && decision === "denied");
}

export function takesCode({ policy }: Gate, decision: string): boolean {
  return decision === "denied" && policy.denial_codes.length > 0;
}

/** Whether a decision may change the arguments of an action. */
export function mayEdit({ action }: Gate, decision: string): boolean {
  return decision === "approved" && action !== null && editableOf(action).length > 0;
}

/** Where the arguments of an action may be changed; those that its agent makes itself stay. */
export function editableOf({ editable, way }: GateAction): readonly string[] {
  return way === "aap" ? [] : editable;
}

/** The members of the request, and all that is wrong with them. */
export function decisionBody(
  gate: Gate,
  decision: string,
  texts: DecisionTexts,
  missing: MissingInputs | null,
): { body: Values; errors: Map<string, string> } {
  const body: Values = {};
  const errors = new Map<string, string>();
  const form = formSchema(gate, decision);
  if (form !== null) {
    const found = formFields(form).collect(texts.form);
    for (const [pointer, error] of found.errors) errors.set(pointer, error);
    body["form"] = found.values;
  }
  if (takesCode(gate, decision)) {
    if (texts.code !== "") body["code"] = texts.code;
    else if (gate.policy.code === "required") errors.set("/code", common("required"));
  }
  if (texts.comment.trim() !== "") body["comment"] = texts.comment;
  else if (needsComment(gate, decision)) errors.set("/comment", common("required"));
  if (decision === "done") {
    const { value, error } = parseToolOutput(texts.output);
    if (error !== undefined) errors.set("/output", error);
    else if (value !== undefined) body["output"] = value;
  }
  if (mayEdit(gate, decision) && texts.arguments.trim() !== "") {
    const made = parseObject(texts.arguments);
    if (made === null) errors.set("/arguments", common("mustBeJsonObject"));
    else if (!equal(made, gate.action?.arguments)) body["arguments"] = made;
  }
  if (missing !== null && acceptsInputs(decision)) {
    const found = missing.collect(texts.inputs);
    for (const [pointer, error] of found.errors) errors.set(pointer, error);
    if (Object.keys(found.inputs).length > 0) body["inputs"] = found.inputs;
  }
  return { body, errors };
}
