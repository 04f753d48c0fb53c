/** A field for what a tool answered, told by a person who has seen it; what is understood of it is shown below. */

import { output } from "../output";
import { Value } from "./Facts";
import { Field } from "./Field";

export function Answered({ text, onChange, mistake, disabled }: { text: string; onChange: (text: string) => void; mistake: string | undefined; disabled: boolean }) {
  const { value } = output(text);
  return (
    <>
      <Field
        label="What the tool answered"
        rows={3}
        value={text}
        onChange={onChange}
        hint="As JSON, or a line for each: name = value. The steps that follow go by it. Empty: an answer without content."
        error={mistake}
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
