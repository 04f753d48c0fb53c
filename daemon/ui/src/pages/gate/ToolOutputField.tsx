/** A field for the tool output that a person reports, with a preview of the parsed value. */

import { Field } from "../../components/Field";
import { Value } from "../../components/ValueTable";
import { parseToolOutput } from "./toolOutput";
import { gate as t } from "../../text/en/gate";

export function ToolOutputField({
  text,
  onChange,
  error,
  disabled,
}: {
  text: string;
  onChange: (text: string) => void;
  error: string | undefined;
  disabled: boolean;
}) {
  const { value } = parseToolOutput(text);
  return (
    <>
      <Field
        label={t("toolOutput")}
        rows={3}
        value={text}
        onChange={onChange}
        hint={t("toolOutputHint")}
        error={error}
        disabled={disabled}
      />
      {value !== undefined && (
        <div className="parsed-output" role="status">
          <p className="muted small">{t("recordedOutput")}</p>
          <Value value={value} />
        </div>
      )}
    </>
  );
}
