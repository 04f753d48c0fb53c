/** The document as YAML: what is valid YAML becomes the draft as it is typed. */

import { useEffect, useRef, useState } from "react";
import { isMap, isSeq, parseDocument, stringify } from "yaml";
import { Field } from "../../../components/Field";
import type { Draft } from "./draft/document";
import { editor as t } from "../../../text/en/editor";

export default function TextView({
  draft,
  chosen,
  onChange,
}: {
  draft: Draft;
  /** The step to which the text is scrolled. */
  chosen: string | null;
  onChange: (draft: Draft) => void;
}) {
  const [text, setText] = useState(() => written(draft));
  const [error, setError] = useState("");
  const mine = useRef(draft);
  useEffect(() => {
    if (mine.current === draft) return;
    mine.current = draft;
    setText(written(draft));
    setError("");
  }, [draft]);
  const view = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const field = view.current?.querySelector("textarea");
    const range = chosen === null ? null : rangeOf(text, chosen);
    if (!field || range === null || field === document.activeElement) return;
    field.setSelectionRange(range[0], range[1]);
    const line = text.slice(0, range[0]).split("\n").length - 2;
    field.scrollTop = (line / text.split("\n").length) * field.scrollHeight;
  }, [chosen]);
  const type = (value: string) => {
    setText(value);
    const found = parseDocument(value);
    const [first] = found.errors;
    const made: unknown = first === undefined ? found.toJS() : null;
    if (first !== undefined) setError(first.message);
    else if (!isDraft(made)) setError(t("mustBeMapping"));
    else {
      setError("");
      mine.current = made;
      onChange(made);
    }
  };
  return (
    <div className="text-view" ref={view}>
      <Field
        label={t("yamlDocument")}
        rows={28}
        value={text}
        onChange={type}
        error={error}
        required
      />
    </div>
  );
}

/** What readers of YAML 1.1 take for something else, such as yes, is quoted. */
const TEXT = { lineWidth: 100, compat: "yaml-1.1" } as const;

/** The members of documents and steps in the order in which people read them. */
const ORDER = [
  ...["vertical", "title", "description", "start", "inputs_schema", "example", "steps"],
  ...["id", "kind", "label", "tier", "flow", "tool", "effect", "role"],
];

function written(draft: Draft): string {
  return stringify({ ...ordered(draft), steps: draft.steps.map(ordered) }, TEXT);
}

function ordered<T extends object>(members: T): T {
  const sorted = Object.entries(members).sort(([one], [other]) => place(one) - place(other));
  return Object.fromEntries(sorted) as T;
}

function place(name: string): number {
  return ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length;
}

/** Where a step stands in the text. */
function rangeOf(text: string, id: string): [number, number] | null {
  const steps = parseDocument(text).get("steps");
  const items = isSeq(steps) ? steps.items : [];
  const found = items.find((item) => isMap(item) && item.get("id") === id);
  const range = isMap(found) ? found.range : null;
  return range ? [range[0], range[1]] : null;
}

function isDraft(value: unknown): value is Draft {
  if (value === null || typeof value !== "object") return false;
  const { vertical, title, steps, clocks, functions, judges } = value as Partial<Draft>;
  return (
    typeof vertical === "string" &&
    typeof title === "string" &&
    Array.isArray(steps) &&
    isEach(steps, ["id", "kind"]) &&
    isEach(clocks, ["id", "label", "within", "stops"]) &&
    isEach(functions, ["label"]) &&
    isEach(judges, ["id", "label", "steps"])
  );
}

const LISTS = ["stops", "steps"];

/** Whether each of these, if there are any, has such texts and lists. */
function isEach(found: unknown, members: string[]): boolean {
  return Object.values(found ?? {}).every((one: Record<string, unknown> | null) =>
    members.every((name) =>
      LISTS.includes(name) ? Array.isArray(one?.[name]) : typeof one?.[name] === "string",
    ),
  );
}
