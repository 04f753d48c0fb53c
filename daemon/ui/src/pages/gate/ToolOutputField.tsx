/** A field for what a tool answered, told by a person who has seen it; what is understood of it is shown below. */

import { Field } from "../../components/Field";
import { Value } from "../../components/ValueTable";
import { parseToolOutput } from "./toolOutput";

export function ToolOutputField({ text, onChange, error, disabled }: { text: string; onChange: (text: string) => void; error: string | undefined; disabled: boolean }) {
  const { value } = parseToolOutput(text);
  return (
    <>
      <Field
        label="What the tool answered"
        rows={3}
        value={text}
        onChange={onChange}
        hint="As JSON, or a line for each: name = value. The steps that follow go by it. Empty: an answer without content."
        error={error}
        disabled={disabled}
      />
      {value !== undefined && (
        <div className="taken" role="status">
          <p className="muted small">This is recorded as its answer:</p>
          <Value value={value} />
        </div>
      )}
    </>
  );
}
