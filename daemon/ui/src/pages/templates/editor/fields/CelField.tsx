/** A CEL expression: completes the names that are known, and points at what does not compile. */

import { type KeyboardEvent, useId, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { Label } from "../../../../components/Text";
import { fitting, wordBefore } from "../draft/names";
import { common } from "../../../../text/en/common";
import { editor as t } from "../../../../text/en/editor";

const PLACE = /at line (\d+), column (\d+): ([^\n]*)/;
const SHOWN_MAX = 8;

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** The names that an expression here may read. */
  names: string[];
  /** What the service found wrong with it. */
  error?: string | undefined;
  hint?: string;
  required?: boolean;
}

export function CelField(props: Props) {
  const { label, value, onChange, names, error, hint, required = false } = props;
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState<number | null>(null);
  const [marked, setMarked] = useState(0);
  const word = caret === null ? "" : wordBefore(value.slice(0, caret));
  const shown = fitting(names, word).slice(0, SHOWN_MAX);
  const at = Math.min(marked, shown.length - 1);
  const complete = (name: string) => {
    if (caret === null) return;
    const before = value.slice(0, caret - word.length) + name;
    flushSync(() => {
      onChange(before + value.slice(caret));
      setCaret(before.length);
      setMarked(0);
    });
    field.current?.focus();
    field.current?.setSelectionRange(before.length, before.length);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const chosen = shown[at];
    if (chosen === undefined) return;
    if (event.key === "ArrowDown") setMarked((at + 1) % shown.length);
    else if (event.key === "ArrowUp") setMarked((at + shown.length - 1) % shown.length);
    else if (event.key === "Enter" || event.key === "Tab") complete(chosen);
    else if (event.key === "Escape") setCaret(null);
    else return;
    event.preventDefault();
  };
  const described = [
    hint === undefined ? "" : `${id}-hint`,
    error === undefined ? "" : `${id}-error`,
  ]
    .filter(Boolean)
    .join(" ");
  const follow = () => setCaret(field.current?.selectionStart ?? null);
  return (
    <div className={error === undefined ? "field" : "field wrong"}>
      <label htmlFor={id}>
        {label}
        {!required && <span className="optional"> {common("optional")}</span>}
      </label>
      {hint !== undefined && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <textarea
        id={id}
        ref={field}
        className="cel"
        rows={2}
        value={value}
        spellCheck={false}
        aria-autocomplete="list"
        aria-controls={`${id}-names`}
        aria-invalid={error !== undefined}
        aria-required={required}
        {...(shown.length > 0 ? { "aria-activedescendant": `${id}-${at}` } : {})}
        {...(described === "" ? {} : { "aria-describedby": described })}
        onChange={(event) => {
          onChange(event.target.value);
          setCaret(event.target.selectionStart);
          setMarked(0);
        }}
        onKeyDown={onKeyDown}
        onKeyUp={follow}
        onClick={follow}
        onBlur={() => setCaret(null)}
      />
      <ul
        id={`${id}-names`}
        className="completions"
        role="listbox"
        aria-label={t("knownNames")}
        hidden={shown.length === 0}
      >
        {shown.map((name, number) => (
          <li
            key={name}
            id={`${id}-${number}`}
            role="option"
            aria-selected={number === at}
            onMouseDown={(event) => {
              event.preventDefault();
              complete(name);
            }}
          >
            {name}
          </li>
        ))}
      </ul>
      {error !== undefined && <Mistake id={`${id}-error`} text={value} error={error} />}
    </div>
  );
}

/** The line that does not compile, with a mark under the place. */
function Mistake({ id, text, error }: { id: string; text: string; error: string }) {
  const found = PLACE.exec(error);
  if (found === null)
    return (
      <p className="error" id={id}>
        <Label text={error} maxLength={400} />
      </p>
    );
  const [, line = "1", column = "1", why = ""] = found;
  const source = text.split("\n")[Number(line) - 1] ?? "";
  return (
    <div className="error" id={id}>
      <pre className="cel-mistake">
        {source}
        {"\n"}
        {" ".repeat(Math.max(0, Number(column) - 1))}^
      </pre>
      <p>{t("column", { column, why: <Label text={why} maxLength={200} /> })}</p>
    </div>
  );
}
