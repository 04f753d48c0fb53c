/** The steps of a run in order. */

import type { Run, TraceEntry } from "../../api/types";
import { ModeBadge } from "../../components/Badges";
import { Icon } from "../../components/Icon";
import { PersonName } from "../../components/record/PersonName";
import { Label } from "../../components/Text";
import { formatDuration, stateLabel } from "../../text/labels";
import { ordinal, stepActor } from "../../text/sentences";
import { runs as t } from "../../text/en/runs";

interface Props {
  run: Run;
  label: (id: string) => string;
  chosen: string | null;
  onChoose: (id: string) => void;
}

export function StepList({ run, label, chosen, onChoose }: Props) {
  return (
    <ol className="steps">
      {run.trace.map((visit) => (
        <li key={`${visit.step_id} ${visit.visit}`} className={`step state-${visit.status}`}>
          <span className="step-sign" title={stateLabel(visit.status)}>
            <Icon name={visit.status} size={16} />
          </span>
          <div>
            <button
              type="button"
              className="step-name"
              aria-pressed={chosen === visit.step_id}
              onClick={() => onChoose(visit.step_id)}
            >
              <Label text={label(visit.step_id)} />
              {visit.visit > 1 && (
                <span className="muted"> ({t("nthTime", { nth: ordinal(visit.visit) })})</span>
              )}
            </button>
            <p className="muted small">
              <StepActor visit={visit} />
              {callDuration(visit)}
            </p>
          </div>
          {visit.mode !== null && <ModeBadge mode={visit.mode} />}
        </li>
      ))}
    </ol>
  );
}

function StepActor({ visit }: { visit: TraceEntry }) {
  const { by, before, after } = stepActor(visit, stateLabel(visit.status));
  const kind = visit.verdict?.by_kind ?? visit.resolved_by_kind;
  return (
    <>
      {before}
      {by !== null && <PersonName by={by} kind={kind} />}
      {after}
    </>
  );
}

/** The duration of a live call, without the time until the decision. */
function callDuration({ mode, verdict, started_at, ended_at }: TraceEntry): string {
  if (mode !== "live" || ended_at === null || (verdict !== null && verdict.decision !== "approved"))
    return "";
  return ` · ${formatDuration(verdict?.at ?? started_at, ended_at)}`;
}
