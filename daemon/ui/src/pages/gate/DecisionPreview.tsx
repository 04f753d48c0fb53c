/** The preview of a decision as a list. */

import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { EFFECT_LABELS, humanize } from "../../text/labels";
import { withArticle } from "../../text/sentences";
import type { PreviewStep } from "./preview";

export function DecisionPreview({ steps }: { steps: PreviewStep[] }) {
  return (
    <ol className="preview">
      {steps.map((step, index) => (
        <li key={index}>
          <PreviewLine step={step} />
        </li>
      ))}
    </ol>
  );
}

function PreviewLine({ step }: { step: PreviewStep }) {
  switch (step.what) {
    case "step":
      return (
        <>
          <Icon name={step.mode} size={16} />
          <span>
            <Label text={step.node.label} />{" "}
            {step.mode === "live" ? (
              <small className="live-note">
                sent live
                {step.node.effect !== null &&
                  ` · ${(EFFECT_LABELS[step.node.effect] ?? "").toLowerCase()}`}
              </small>
            ) : (
              <small className="muted">dry run</small>
            )}
          </span>
        </>
      );
    case "gate":
      return (
        <>
          <Icon name="gate" size={16} />
          <span>
            Then waits at: <Label text={step.node.label} />
            {step.node.role !== null && (
              <small className="muted"> for {withArticle(step.node.role)}</small>
            )}
          </span>
        </>
      );
    case "end":
      return (
        <>
          <Icon name="end" size={16} />
          <span>
            The run ends: <Label text={humanize(step.node.outcome ?? step.node.label)} />
          </span>
        </>
      );
    case "denied":
      return (
        <>
          <Icon name="denied" size={16} />
          <span>The run ends as denied. No later step runs.</span>
        </>
      );
    case "join":
      return (
        <>
          <Icon name="waiting" size={16} />
          <span>
            Then waits for the other branches: <Label text={step.node.label} />
          </span>
        </>
      );
    case "choice":
    case "fork":
      return (
        <>
          <Icon name="gateway" size={16} />
          <span>
            {step.what === "choice" ? (
              <>
                Then a rule decides (<Label text={step.node.label} />
                ):{" "}
              </>
            ) : (
              "Then in parallel: "
            )}
            {step.branches.map((branch, index) => (
              <span key={index}>
                {index > 0 && (step.what === "choice" ? " or " : " and ")}
                <Label text={branch.name} />
              </span>
            ))}
          </span>
        </>
      );
    default:
      return (
        <>
          <Icon name="forward" size={16} />
          <span>more steps</span>
        </>
      );
  }
}
