/** A field for the tool output that a person reports, with a preview of the parsed value. */

import { Field } from "../../components/Field";
import { Value } from "../../components/ValueTable";
import { parseToolOutput } from "./toolOutput";

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
        label="Tool output"
        rows={3}
        value={text}
        onChange={onChange}
        hint="JSON, or one line per value: name = value. Later steps use it. Empty: a response without content."
        error={error}
        disabled={disabled}
      />
      {value !== undefined && (
        <div className="parsed-output" role="status">
          <p className="muted small">This is recorded as the tool output:</p>
          <Value value={value} />
        </div>
      )}
    </>
  );
}
