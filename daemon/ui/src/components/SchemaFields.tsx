/** Form fields for the properties of a JSON Schema. */

import type { ReactNode } from "react";
import type { JsonSchema } from "../api/jsonSchema";
import { humanize } from "../text/labels";
import { Field } from "./Field";
import { choiceName, ChoiceList, ObjectList } from "./SchemaLists";
import {
  choicesOf,
  fieldKind,
  type FieldTexts,
  isListOfTexts,
  itemChoices,
  itemFields,
} from "./schemaValues";
import { Label } from "./Text";
import { common as t } from "../text/en/common";

/** The properties in the template's order. */
function ordered(schema: JsonSchema): [string, JsonSchema][] {
  const order = schema["x-order"];
  const found = Object.entries(schema.properties ?? {});
  if (order === undefined) return found;
  const place = (name: string) => order.indexOf(name) >>> 0;
  return found.sort(([a], [b]) => place(a) - place(b));
}

const INPUT_TYPES: Record<string, string> = {
  date: "date",
  "date-time": "datetime-local",
  email: "email",
};

/** The input that fits the format of a text; other fields have one of their own. */
function inputType(kind: string, format: string | undefined): { type?: string } {
  const type = kind === "text" && format !== undefined ? INPUT_TYPES[format] : undefined;
  return type === undefined ? {} : { type };
}

export function SchemaFields({
  schema,
  texts,
  onChange,
  errors,
  at = "/inputs",
}: {
  schema: JsonSchema;
  texts: FieldTexts;
  onChange: (texts: FieldTexts) => void;
  errors: Map<string, string>;
  /** The pointer of the values in the request. */
  at?: string;
}) {
  return (
    <>
      {ordered(schema).map(([name, property]) => {
        const kind = fieldKind(property);
        const pointer = `${at}/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`;
        const shared = {
          label: <Label text={property.title ?? humanize(name)} />,
          schema: property,
          text: texts[name] ?? "",
          onChange: (text: string) => onChange({ ...texts, [name]: text }),
          required: schema.required?.includes(name) ?? false,
        };
        if (itemChoices(property) !== null)
          return <ChoiceList key={name} {...shared} error={errorAt(errors, pointer)} />;
        if (itemFields(property) !== null)
          return <ObjectList key={name} {...shared} errors={errors} at={pointer} />;
        const options =
          kind === "boolean"
            ? [
                { value: "", name: t("notSet") },
                { value: "true", name: t("yes") },
                { value: "false", name: t("no") },
              ]
            : kind === "choice"
              ? [
                  { value: "", name: t("notSet") },
                  ...(choicesOf(property) ?? []).map((choice, index) => ({
                    value: String(index),
                    name: choiceName(choice),
                  })),
                ]
              : undefined;
        return (
          <Field
            key={name}
            label={<Label text={property.title ?? humanize(name)} />}
            value={texts[name] ?? ""}
            onChange={(text) => onChange({ ...texts, [name]: text })}
            required={schema.required?.includes(name) ?? false}
            {...hint(property)}
            {...inputType(kind, property.format)}
            error={errorAt(errors, pointer)}
            {...(kind === "number" ? { inputMode: "decimal" as const } : {})}
            {...(kind === "json" ? { rows: 4 } : {})}
            {...(options === undefined ? {} : { options })}
          />
        );
      })}
    </>
  );
}

function hint(property: JsonSchema): { hint?: ReactNode } {
  if (property.description !== undefined)
    return { hint: <Label text={property.description} maxLength={300} /> };
  return isListOfTexts(property) ? { hint: t("onePerLine") } : {};
}

/** What is wrong with a value, or with something inside it. */
function errorAt(errors: Map<string, string>, pointer: string): string | undefined {
  const inside = [...errors].filter(([at]) => at.startsWith(`${pointer}/`));
  return (
    errors.get(pointer) ??
    (inside.length === 0
      ? undefined
      : inside.map(([at, error]) => `${at.slice(pointer.length + 1)} ${error}`).join("; "))
  );
}
