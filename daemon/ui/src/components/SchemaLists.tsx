/** Fields of a form that hold a list: of choices, each a box, or of objects, each with its fields. */

import { type ReactNode, useId } from "react";
import { equal, isObject, parse, prettyPrint, stringify } from "../api/json";
import type { JsonSchema } from "../api/jsonSchema";
import type { Values } from "../api/types";
import { common as t } from "../text/en/common";
import { humanize } from "../text/labels";
import { Check } from "./Field";
import { SchemaFields } from "./SchemaFields";
import { collectValues, type FieldTexts, itemChoices, textsFrom } from "./schemaValues";
import { Label, plainText } from "./Text";

interface Props {
  label: ReactNode;
  schema: JsonSchema;
  /** The list as JSON; empty without one. */
  text: string;
  onChange: (text: string) => void;
  required: boolean;
}

export function choiceName({ value, title }: { value: unknown; title: string | null }): string {
  return plainText(title ?? (typeof value === "string" ? humanize(value) : prettyPrint(value)));
}

export function ChoiceList({
  label,
  schema,
  text,
  onChange,
  required,
  error,
}: Props & { error: string | undefined }) {
  const id = useId();
  const chosen = listOf(text);
  const all = itemChoices(schema) ?? [];
  const toggle = (value: unknown, on: boolean) => {
    const next = all
      .map((choice) => choice.value)
      .filter((one) => (equal(one, value) ? on : chosen.some((kept) => equal(kept, one))));
    onChange(next.length === 0 && !required ? "" : stringify(next));
  };
  return (
    <fieldset className={error === undefined ? "ways" : "ways wrong"} aria-describedby={id}>
      <legend>
        {label}
        {!required && <span className="optional"> {t("optional")}</span>}
      </legend>
      {all.map((choice) => (
        <Check
          key={stringify(choice.value)}
          label={choiceName(choice)}
          checked={chosen.some((one) => equal(one, choice.value))}
          onChange={(on) => toggle(choice.value, on)}
        />
      ))}
      {error !== undefined && (
        <p className="error" id={id}>
          {error}
        </p>
      )}
    </fieldset>
  );
}

/** Each object of the list has fields of its own; what is typed stays with its value. */
export function ObjectList({
  label,
  schema,
  text,
  onChange,
  required,
  errors,
  at,
}: Props & { errors: Map<string, string>; at: string }) {
  const items = schema.items ?? {};
  const rows = listOf(text)
    .filter(isObject)
    .map((value) => textsFrom(items, value as Values));
  const put = (next: FieldTexts[]) =>
    onChange(next.length === 0 ? "" : stringify(next.map(toJson)));
  const toJson = (texts: FieldTexts): Values => ({
    ...collectValues({ ...items, required: [] }, texts, null).inputs,
    ...Object.fromEntries(
      Object.entries(texts)
        .filter(([name, value]) => value !== "" && isUnread(items, name, value))
        .map(([name, value]) => [name, value]),
    ),
  });
  return (
    <fieldset className="ways">
      <legend>
        {label}
        {!required && <span className="optional"> {t("optional")}</span>}
      </legend>
      {rows.map((texts, place) => (
        <fieldset className="way" key={place}>
          <legend>{t("item", { place: place + 1 })}</legend>
          <SchemaFields
            schema={items}
            texts={texts}
            onChange={(next) => put(rows.map((row, other) => (other === place ? next : row)))}
            errors={errors}
            at={`${at}/${place}`}
          />
          <button
            type="button"
            className="button"
            onClick={() => put(rows.filter((_, other) => other !== place))}
          >
            {t("removeItem", { place: place + 1 })}
          </button>
        </fieldset>
      ))}
      {errors.get(at) !== undefined && (
        <p className="error">
          <Label text={errors.get(at) ?? ""} maxLength={300} />
        </p>
      )}
      <button type="button" className="button" onClick={() => put([...rows, {}])}>
        {t("addItem")}
      </button>
    </fieldset>
  );
}

/** Whether a text is no value of its field yet: it is kept as it was typed, and refused when sent. */
function isUnread(items: JsonSchema, name: string, text: string): boolean {
  return !(name in collectValues({ ...items, required: [] }, { [name]: text }, null).inputs);
}

function listOf(text: string): unknown[] {
  try {
    const found = parse(text);
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}
