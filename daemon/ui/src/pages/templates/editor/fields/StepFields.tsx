/** Fields of steps that are numbers, lists or JSON in the document. */

import { useState } from "react";
import { parse, prettyPrint } from "../../../../api/json";
import { Field } from "../../../../components/Field";
import { common } from "../../../../text/en/common";
import { editor as t } from "../../../../text/en/editor";

interface Props {
  /** A step, or another part of the document with members of its own. */
  step: { id: string; [member: string]: unknown };
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

export type Read<T> = { value: T } | { error: string };

interface ParsedProps<T> {
  label: string;
  /** What the document says, as text. */
  stands: string;
  read: (text: string) => Read<T>;
  show: (value: T) => string;
  onChange: (value: T) => void;
  /** Whose field it is: for another one it begins anew. */
  owner: string;
  hint?: string;
  rows?: number;
  required?: boolean;
}

/** A text that counts while it can be read; until then it stays in the field, with what is wrong. */
export function ParsedField<T>(props: ParsedProps<T>) {
  const { stands, read, show, owner, hint, rows } = props;
  const [held, setHeld] = useState({ owner, stands, text: stands });
  if (held.owner !== owner || held.stands !== stands) {
    const said = read(held.text);
    const same = held.owner === owner && "value" in said && show(said.value) === stands;
    setHeld({ owner, stands, text: same ? held.text : stands });
  }
  const { text } = held;
  const found = read(text);
  return (
    <Field
      label={props.label}
      value={text}
      onChange={(made) => {
        setHeld({ owner, stands, text: made });
        const meant = read(made);
        if ("value" in meant && show(meant.value) !== stands) props.onChange(meant.value);
      }}
      error={"error" in found ? found.error : undefined}
      required={props.required ?? false}
      {...(hint === undefined ? {} : { hint })}
      {...(rows === undefined ? {} : { rows })}
    />
  );
}

/** A text that must not be empty. */
export function RequiredText({
  label,
  value,
  owner,
  onChange,
}: {
  label: string;
  value: string;
  owner: string;
  onChange: (value: string) => void;
}) {
  return (
    <ParsedField
      label={label}
      stands={value}
      owner={owner}
      read={(text) => (text === "" ? { error: common("required") } : { value: text })}
      show={(text) => text}
      onChange={onChange}
      required
    />
  );
}

export function NumberField({ step, set, name, label, hint }: Props) {
  return (
    <ParsedField<number | undefined>
      label={label}
      stands={textOf(step[name])}
      owner={step.id}
      read={(text) => {
        if (text === "") return { value: undefined };
        return /^[1-9]\d*$/.test(text) ? { value: Number(text) } : { error: common("mustBeWhole") };
      }}
      show={textOf}
      onChange={(value) => set({ [name]: value })}
      {...(hint === undefined ? {} : { hint })}
    />
  );
}

export function namesOf(text: string): string[] {
  const names = text.split(",").map((one) => one.trim());
  return names.filter((one) => one !== "");
}

/** Names between commas. */
export function ListField({ step, set, name, label, hint = t("commas") }: Props) {
  return (
    <ParsedField<string[]>
      label={label}
      stands={listOf(step[name]).join(", ")}
      owner={step.id}
      read={(text) => ({ value: namesOf(text) })}
      show={(names) => names.join(", ")}
      onChange={(names) => set({ [name]: names.length === 0 ? undefined : names })}
      hint={hint}
    />
  );
}

/** A value that is written as JSON. */
export function JsonField({ step, set, name, label, hint }: Props) {
  return (
    <ParsedField<unknown>
      label={label}
      rows={4}
      stands={shown(step[name])}
      owner={step.id}
      read={readJson}
      show={shown}
      onChange={(value) => set({ [name]: value })}
      {...(hint === undefined ? {} : { hint })}
    />
  );
}

export function shown(value: unknown): string {
  return value === undefined ? "" : prettyPrint(value);
}

export function readJson(text: string): Read<unknown> {
  if (text.trim() === "") return { value: undefined };
  try {
    return { value: parse(text) };
  } catch {
    return { error: common("mustBeJson") };
  }
}
