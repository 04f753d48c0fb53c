/** A form field with label, hint and error, connected for screen readers. */

import { type ReactNode, useId } from "react";
import { Label, plainText } from "./Text";
import { common as t } from "../text/en/common";
import { problems } from "../text/en/problems";

const BOUND =
  /^has to be (?:greater than or equal to (?<least>-?[\d.]+)|less than or equal to (?<most>-?[\d.]+))$/;

interface Props {
  label: ReactNode;
  value: string;
  onChange: (value: string) => void;
  type?: string;
  hint?: ReactNode;
  error?: string | undefined;
  required?: boolean;
  autoComplete?: string;
  inputMode?: "decimal" | "numeric" | "text" | "url";
  placeholder?: string;
  rows?: number;
  options?: { value: string; name: string }[];
  disabled?: boolean;
}

export function Field(props: Props) {
  const {
    label,
    value,
    onChange,
    type = "text",
    hint,
    error = "",
    required = false,
    rows,
    options,
  } = props;
  const id = useId();
  const described = [hint !== undefined ? `${id}-hint` : "", error !== "" ? `${id}-error` : ""]
    .filter(Boolean)
    .join(" ");
  const shared = {
    id,
    value,
    "aria-required": required,
    "aria-invalid": error !== "",
    disabled: props.disabled ?? false,
    ...(described === "" ? {} : { "aria-describedby": described }),
  };
  return (
    <div className={error === "" ? "field" : "field wrong"}>
      <label htmlFor={id}>
        {label}
        {!required && <span className="optional"> {t("optional")}</span>}
      </label>
      {hint !== undefined && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {options !== undefined ? (
        <select {...shared} onChange={(event) => onChange(event.target.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {plainText(option.name, 80)}
            </option>
          ))}
        </select>
      ) : rows !== undefined ? (
        <textarea {...shared} rows={rows} onChange={(event) => onChange(event.target.value)} />
      ) : (
        <input
          {...shared}
          type={type}
          autoComplete={props.autoComplete ?? "off"}
          {...(props.inputMode === undefined ? {} : { inputMode: props.inputMode })}
          {...(props.placeholder === undefined ? {} : { placeholder: props.placeholder })}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {error !== "" && (
        <p className="error" id={`${id}-error`}>
          <Label text={errorText(error)} maxLength={400} />
        </p>
      )}
    </div>
  );
}

/** What the service finds wrong with a field, in the words of the page. */
export function errorText(error: string): string {
  if (/^is (required|missing)$/.test(error)) return t("required");
  const bound = BOUND.exec(error)?.groups;
  if (bound?.["least"] !== undefined) return problems("atLeast", { least: bound["least"] });
  if (bound?.["most"] !== undefined) return problems("atMost", { most: bound["most"] });
  return problems.code("field", error, error.charAt(0).toUpperCase() + error.slice(1));
}

export function Check({
  label,
  hint,
  checked,
  onChange,
  disabled = false,
}: {
  label: ReactNode;
  hint?: ReactNode;
  checked: boolean;
  onChange: (on: boolean) => void;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
        {...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && (
          <p className="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
