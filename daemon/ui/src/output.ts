/** What a person says a tool has answered: as JSON, or a line for each name and value. */

import { parse } from "./json";
import { Exact, type Json } from "./types";

export interface Output {
  value?: Json;
  mistake?: string;
}

const LINE = /^\s*([^=:{}[\]"]+?)\s*[=:]\s*(.*?)\s*$/;

/** The text as a value; nothing for an empty one. */
export function output(text: string): Output {
  const trimmed = text.trim();
  if (trimmed === "") return {};
  const value = read(trimmed);
  if (value !== undefined) return { value };
  const lines = trimmed.split("\n").filter((line) => line.trim() !== "");
  const found = lines.map((line) => LINE.exec(line));
  if (found.some((one) => one === null)) return { mistake: "is neither JSON nor lines of the form name = value" };
  const names = found.map((one) => one?.[1] ?? "");
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return { mistake: `names ${twice} twice` };
  return { value: Object.fromEntries(found.map((one) => [one?.[1] ?? "", scalar(one?.[2] ?? "")])) };
}

function scalar(text: string): Json {
  const value = read(text);
  return typeof value === "number" || typeof value === "boolean" || value === null || value instanceof Exact ? value : text.replace(/^"(.*)"$/, "$1");
}

function read(text: string): Json | undefined {
  try {
    return parse(text) as Json;
  } catch {
    return undefined;
  }
}
