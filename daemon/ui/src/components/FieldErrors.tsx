/** All that is wrong with a form, each with a link to its field. */

import { useLayoutEffect, useRef, useState } from "react";
import { AWAITS_APPROVAL, type Problem } from "../api/client";
import { common as t } from "../text/en/common";
import { Note } from "./Feedback";
import { errorText } from "./Field";
import { Label } from "./Text";

interface Wrong {
  field: HTMLElement | null;
  label: string;
  error: string;
}

export function FieldErrors({ errors }: { errors: Map<string, string> }) {
  const ref = useRef<HTMLDivElement>(null);
  const [wrong, setWrong] = useState<Wrong[]>([]);
  useLayoutEffect(() => {
    const form = ref.current?.closest("form");
    setWrong(form === null || form === undefined ? [] : wrongIn(form, errors));
  }, [errors]);
  if (errors.size === 0) return null;
  return (
    <div ref={ref} className="field-errors">
      <Note kind="bad" title={t("fieldsWrong", { count: Math.max(wrong.length, 1) })}>
        <ul>
          {wrong.map(({ field, label, error }) => (
            <li key={`${label} ${error}`}>
              {field === null ? (
                <Label text={`${label}: ${error}`} maxLength={300} />
              ) : (
                <button type="button" className="link" onClick={() => focusField(field)}>
                  <Label text={`${label}: ${error}`} maxLength={300} />
                </button>
              )}
            </li>
          ))}
        </ul>
      </Note>
    </div>
  );
}

/** Why the service refused a form: what is wrong with its fields, or else a sentence. */
export function FormProblem({ problem, title }: { problem: Problem | null; title?: string }) {
  if (problem === null) return null;
  if (problem.code === AWAITS_APPROVAL)
    return (
      <Note kind="info" title={problem.message}>
        <a href="#/people/changes">{t("showWaiting")}</a>
      </Note>
    );
  const errors = problem.fields;
  if (errors.size === 0) return <Note kind="bad" title={title ?? problem.message} />;
  return <FieldErrors errors={errors} />;
}

/** The fields that are marked as wrong, and the findings that have no field here. */
function wrongIn(form: HTMLFormElement, errors: Map<string, string>): Wrong[] {
  const found = [...form.querySelectorAll<HTMLElement>('[aria-invalid="true"]')].map((field) => ({
    field,
    label: labelOf(field),
    error: document.getElementById(`${field.id}-error`)?.textContent ?? "",
  }));
  const shown = found.map((one) => one.error);
  const others = [...errors].filter(
    ([, error]) => !shown.some((text) => text.includes(errorText(error)) || text.includes(error)),
  );
  return [
    ...found,
    ...others.map(([pointer, error]) => ({
      field: null,
      label: pointer.split("/").at(-1) ?? pointer,
      error: errorText(error),
    })),
  ];
}

/** Focus a field, in whatever folded part of the form it stands. */
function focusField(field: HTMLElement): void {
  field.closest("details")?.setAttribute("open", "");
  field.focus();
}

function labelOf(field: HTMLElement): string {
  const label = document.querySelector(`label[for="${CSS.escape(field.id)}"]`)?.cloneNode(true);
  if (!(label instanceof Element)) return "";
  for (const one of label.querySelectorAll(".optional")) one.remove();
  return label.textContent.trim();
}
