/** What a decision leads to up to the next person, and the requests that it sends. */

import { prettyPrint } from "../../api/json";
import type { Call, DecisionPreview as Preview, Gate, PlannedCall } from "../../api/types";
import { Icon } from "../../components/Icon";
import { unknownContent } from "./missingInputs";
import { Label, Text } from "../../components/Text";
import { effectLabel, modeLabel, outcomeLabel } from "../../text/labels";
import { common } from "../../text/en/common";
import { gate as t } from "../../text/en/gate";

type Step = Preview["steps"][number];

const STEPS_MAX = 8;
const OPEN_CHARS_MAX = 400;

export function DecisionPreview({
  preview,
  gate,
  label,
}: {
  preview: Preview;
  gate: Gate;
  label: (step: string) => string;
}) {
  const { steps } = preview;
  const requests = requestsOf(gate, preview.decision);
  const shown = steps.filter((step, place) => place < STEPS_MAX || requests.has(step.step_id));
  const several = preview.gates.length + preview.outcomes.length > 1;
  return (
    <ol className="preview">
      {shown.map((step) => (
        <li key={step.step_id}>
          <PreviewStep step={step} request={requests.get(step.step_id)} />
        </li>
      ))}
      {steps.length > shown.length && (
        <li>
          <Icon name="forward" size={16} />
          <span>{t("moreSteps", { count: steps.length - shown.length })}</span>
        </li>
      )}
      {preview.gates.map((step) => (
        <li key={`gate ${step}`}>
          <Icon name="gate" size={16} />
          <span>
            {t(several ? "mayWaitAt" : "thenWaitsAt", { step: <Label text={label(step)} /> })}
          </span>
        </li>
      ))}
      {preview.outcomes.map((outcome) => (
        <li key={`end ${outcome}`}>
          <Icon name={outcome === "denied" ? "denied" : "end"} size={16} />
          <span>
            {outcome === "denied" && !several
              ? t("endsDenied")
              : t(several ? "mayEnd" : "ends", { outcome: <Label text={outcomeLabel(outcome)} /> })}
          </span>
        </li>
      ))}
    </ol>
  );
}

interface Request {
  call: Call | null;
  connector: PlannedCall["connector"];
  /** Why there is no call yet. */
  unknown: string;
}

/** The requests that a decision sends, by step, as the digest of the gate covers them. */
function requestsOf(gate: Gate, decision: string): Map<string, Request> {
  const found = new Map<string, Request>(
    gate.effects
      .filter((one) => one.decisions.includes(decision))
      .map(({ step_id, call, connector }) => [
        step_id,
        { call, connector, unknown: unknownContent(gate, step_id) },
      ]),
  );
  if (gate.effect !== null && decision !== "denied" && decision !== "done")
    found.set(gate.step_id, { call: gate.effect, connector: null, unknown: "" });
  return found;
}

function PreviewStep({ step, request }: { step: Step; request: Request | undefined }) {
  const { mode, effect, certain, kind } = step;
  return (
    <>
      <Icon name={mode ?? (kind === "wait" ? "waiting" : kind)} size={16} />
      <div>
        {!certain && <small className="muted">{t("maybe")} </small>}
        <Label text={step.label} />{" "}
        {mode === "live" ? (
          <small className="live-note">
            {t("sentLive")}
            {effect !== null && ` · ${effectLabel(effect).toLowerCase()}`}
          </small>
        ) : (
          <small className="muted">
            {mode === "handed"
              ? modeLabel(mode)
              : mode === "shadow"
                ? t("asDryRun")
                : kind === "wait"
                  ? t("waits")
                  : ""}
          </small>
        )}
        {request !== undefined && <RequestSent {...request} />}
      </div>
    </>
  );
}

/** Method, address and body of a request, as far as they are fixed. */
function RequestSent({ call, connector, unknown }: Request) {
  const method = call?.method ?? connector?.method;
  const url = call?.url ?? (connector === null ? null : connector.origin + connector.path);
  if (url === null) return <p className="request muted">{t("noConnector")}</p>;
  const body = call?.body == null ? null : prettyPrint(call.body);
  return (
    <div className="request">
      <code>{method}</code>{" "}
      <code className="url">
        <Text text={url} />
      </code>
      {body !== null && (
        <details open={body.length < OPEN_CHARS_MAX}>
          <summary>{common("body")}</summary>
          <pre tabIndex={0}>
            <Text text={body} />
          </pre>
        </details>
      )}
      {call === null && <small className="muted"> {unknown}</small>}
    </div>
  );
}
