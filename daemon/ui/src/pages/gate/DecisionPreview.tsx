/** What a decision leads to up to the next person, as the service foresees it. */

import type { DecisionPreview as Preview } from "../../api/types";
import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { EFFECT_LABELS, humanize } from "../../text/labels";

type Step = Preview["steps"][number];

const STEPS_MAX = 8;

export function DecisionPreview({
  preview,
  label,
}: {
  preview: Preview;
  label: (step: string) => string;
}) {
  const { steps } = preview;
  const shown = steps.slice(0, STEPS_MAX);
  const several = preview.gates.length + preview.outcomes.length > 1;
  return (
    <ol className="preview">
      {shown.map((step) => (
        <li key={step.step_id}>
          <PreviewStep step={step} />
        </li>
      ))}
      {steps.length > shown.length && (
        <li>
          <Icon name="forward" size={16} />
          <span>{steps.length - shown.length} more steps</span>
        </li>
      )}
      {preview.gates.map((step) => (
        <li key={`gate ${step}`}>
          <Icon name="gate" size={16} />
          <span>
            {several ? "May wait at: " : "Then waits at: "}
            <Label text={label(step)} />
          </span>
        </li>
      ))}
      {preview.outcomes.map((outcome) => (
        <li key={`end ${outcome}`}>
          <Icon name={outcome === "denied" ? "denied" : "end"} size={16} />
          <span>
            {outcome === "denied" && !several ? (
              "The run ends as denied. No later step runs."
            ) : (
              <>
                {several ? "The run may end: " : "The run ends: "}
                <Label text={humanize(outcome)} />
              </>
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}

function PreviewStep({ step }: { step: Step }) {
  const { mode, effect, certain, kind } = step;
  return (
    <>
      <Icon name={mode ?? (kind === "wait" ? "waiting" : kind)} size={16} />
      <span>
        {!certain && <small className="muted">maybe </small>}
        <Label text={step.label} />{" "}
        {mode === "live" ? (
          <small className="live-note">
            sent live
            {effect !== null && ` · ${(EFFECT_LABELS[effect] ?? "").toLowerCase()}`}
          </small>
        ) : (
          <small className="muted">
            {mode === "shadow" ? "dry run" : kind === "wait" ? "waits" : ""}
          </small>
        )}
      </span>
    </>
  );
}
