/** Form fields for the properties of a JSON Schema. */

import { prettyPrint } from "../api/json";
import type { JsonSchema } from "../api/jsonSchema";
import { humanize } from "../text/labels";
import { Field } from "./Field";
import { fieldKind, type FieldTexts } from "./schemaValues";
import { Label, plainText } from "./Text";

/** Required properties first. */
function requiredFirst(schema: JsonSchema): [string, JsonSchema][] {
  const later = ([name]: [string, JsonSchema]) =>
    Number(!(schema.required?.includes(name) ?? false));
  return Object.entries(schema.properties ?? {}).sort((a, b) => later(a) - later(b));
}

export function SchemaFields({
  schema,
  texts,
  onChange,
  errors,
}: {
  schema: JsonSchema;
  texts: FieldTexts;
  onChange: (texts: FieldTexts) => void;
  errors: Map<string, string>;
}) {
  return (
    <>
      {requiredFirst(schema).map(([name, property]) => {
        const kind = fieldKind(property);
        const options =
          kind === "boolean"
            ? [
                { value: "", name: "Not set" },
                { value: "true", name: "Yes" },
                { value: "false", name: "No" },
              ]
            : kind === "choice"
              ? [
                  { value: "", name: "Not set" },
                  ...(property.enum ?? []).map((value, index) => ({
                    value: String(index),
                    name: plainText(
                      typeof value === "string" ? humanize(value) : prettyPrint(value),
                    ),
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
            {...(property.description === undefined
              ? {}
              : { hint: <Label text={property.description} maxLength={300} /> })}
            error={errors.get(`/inputs/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`)}
            {...(kind === "number" ? { inputMode: "decimal" as const } : {})}
            {...(kind === "json" ? { rows: 4 } : {})}
            {...(options === undefined ? {} : { options })}
          />
        );
      })}
    </>
  );
}
