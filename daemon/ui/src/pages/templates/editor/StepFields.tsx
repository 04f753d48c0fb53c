/** Fields of steps that are numbers, lists or JSON in the document. */

import { useEffect, useState } from "react";
import { prettyPrint } from "../../../api/json";
import { Field } from "../../../components/Field";
import type { Step } from "./document";

interface Props {
  step: Step;
  set: (members: Record<string, unknown>) => void;
  name: string;
  label: string;
  hint?: string;
}

export function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

export function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

export function NumberField({ step, set, name, label }: Props) {
  return (
    <Field
      label={label}
      value={textOf(step[name])}
      inputMode="numeric"
      onChange={(value) => set({ [name]: /^\d+$/.test(value) ? Number(value) : undefined })}
    />
  );
}

/** Names between commas; they count when the field is left. */
export function ListField({ step, set, name, label, hint = "Separated by commas" }: Props) {
  const stands = listOf(step[name]).join(", ");
  const [text, setText] = useState(stands);
  useEffect(() => setText(stands), [stands, step.id]);
  const leave = () => {
    const names = text.split(",").map((one) => one.trim());
    const found = names.filter((one) => one !== "");
    if (found.join(", ") !== stands) set({ [name]: found.length === 0 ? undefined : found });
  };
  return (
    <div onBlur={leave}>
      <Field label={label} value={text} onChange={setText} hint={hint} />
    </div>
  );
}

/** A value that is written as JSON, and counts as soon as it is JSON. */
export function JsonField({ step, set, name, label, hint }: Props) {
  const stands = step[name] === undefined ? "" : prettyPrint(step[name]);
  const [text, setText] = useState(stands);
  useEffect(() => setText(stands), [stands, step.id]);
  const value = parsed(text);
  return (
    <div onBlur={() => value.valid && text !== stands && set({ [name]: value.value })}>
      <Field
        label={label}
        rows={4}
        value={text}
        onChange={setText}
        {...(hint === undefined ? {} : { hint })}
        error={value.valid ? undefined : "must be JSON"}
      />
    </div>
  );
}

function parsed(text: string): { valid: boolean; value?: unknown } {
  if (text.trim() === "") return { valid: true, value: undefined };
  try {
    return { valid: true, value: JSON.parse(text) as unknown };
  } catch {
    return { valid: false };
  }
}
