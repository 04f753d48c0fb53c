/** Parses the tool output that a person reports: JSON, or one `name = value` per line. */

import { ExactNumber, parse } from "../../api/json";
import { gate as t } from "../../text/en/gate";

export interface ParsedOutput {
  value?: unknown;
  error?: string;
}

const LINE = /^\s*([^=:{}[\]"]+?)\s*[=:]\s*(.*?)\s*$/;

/** The text as a value; nothing for an empty one. */
export function parseToolOutput(text: string): ParsedOutput {
  const trimmed = text.trim();
  if (trimmed === "") return {};
  const value = parseJson(trimmed);
  if (value !== undefined) return { value };
  const lines = trimmed.split("\n").filter((line) => line.trim() !== "");
  const found = lines.map((line) => LINE.exec(line));
  if (found.some((match) => match === null)) return { error: t("mustBeOutput") };
  const names = found.map((match) => match?.[1] ?? "");
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) return { error: t("namesTwice", { name: duplicate }) };
  return {
    value: Object.fromEntries(
      found.map((match) => [match?.[1] ?? "", parseScalar(match?.[2] ?? "")]),
    ),
  };
}

function parseScalar(text: string): unknown {
  const value = parseJson(text);
  return typeof value === "number" ||
    typeof value === "boolean" ||
    value === null ||
    value instanceof ExactNumber
    ? value
    : text.replace(/^"(.*)"$/, "$1");
}

function parseJson(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    return undefined;
  }
}
