/** What is wrong with a value, by its JSON Schema, in the words that stand beside its field. */

import type { JsonSchema } from "../api/jsonSchema";
import { common as t } from "../text/en/common";
import { formatNumber } from "../text/formats";

const FORMATS: Record<string, { fits: RegExp; wrong: () => string }> = {
  date: { fits: /^\d{4}-\d{2}-\d{2}$/, wrong: () => t("mustBeDate") },
  "date-time": {
    fits: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/,
    wrong: () => t("mustBeTime"),
  },
  email: { fits: /^[^\s@]+@[^\s@]+$/, wrong: () => t("mustBeEmail") },
  uri: { fits: /^[A-Za-z][A-Za-z0-9+.-]*:\S+$/, wrong: () => t("mustBeUri") },
};

export function valueError(schema: JsonSchema, value: unknown): string | null {
  if (typeof value === "number") return numberError(schema, value);
  return typeof value === "string" && schema.enum === undefined ? textError(schema, value) : null;
}

function numberError(schema: JsonSchema, value: number): string | null {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (schema.type === "integer" && !Number.isInteger(value)) return t("mustBeWhole");
  if (minimum !== undefined && value < minimum)
    return t("mustBeAtLeast", { least: formatNumber(minimum) });
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    return t("mustBeMore", { than: formatNumber(exclusiveMinimum) });
  if (maximum !== undefined && value > maximum)
    return t("mustBeAtMost", { most: formatNumber(maximum) });
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    return t("mustBeLess", { than: formatNumber(exclusiveMaximum) });
  return null;
}

function textError(schema: JsonSchema, value: string): string | null {
  const { minLength, maxLength, pattern, format } = schema;
  const known = format === undefined ? undefined : FORMATS[format];
  if (known !== undefined && !known.fits.test(value)) return known.wrong();
  const length = [...value].length;
  if (minLength !== undefined && length < minLength) return t("tooShort", { count: minLength });
  if (maxLength !== undefined && length > maxLength) return t("tooLong", { count: maxLength });
  if (pattern !== undefined && fits(pattern, value) === false) return t("wrongForm");
  return null;
}

/** Whether a text fits a pattern; null for one that browsers read in another way. */
function fits(pattern: string, text: string): boolean | null {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return null;
  }
}
