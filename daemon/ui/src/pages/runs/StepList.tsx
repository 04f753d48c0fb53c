/** The steps of a run in order. */

import type { Run, RunEvent, TraceEntry } from "../../api/types";
import { ModeBadge } from "../../components/Badges";
import { Icon } from "../../components/Icon";
import { PersonName } from "../../components/record/PersonName";
import { Label } from "../../components/Text";
import { formatDuration, stateLabel } from "../../text/labels";
import { ordinal, stepActor } from "../../text/sentences";
import { runs as t } from "../../text/en/runs";

interface Props {
  run: Run;
  events: RunEvent[];
  label: (id: string) => string;
  chosen: string | null;
  onChoose: (id: string) => void;
}

export function StepList({ run, events, label, chosen, onChoose }: Props) {
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
              <StepActor visit={visit} events={events} />
              {callDuration(visit)}
            </p>
          </div>
          {visit.mode !== null && <ModeBadge mode={visit.mode} />}
        </li>
      ))}
    </ol>
  );
}

function StepActor({ visit, events }: { visit: TraceEntry; events: RunEvent[] }) {
  const { by, before, after } = stepActor(visit, stateLabel(visit.status));
  const kind = visit.verdict?.by_kind ?? visit.resolved_by_kind;
  return (
    <>
      {before}
      {agreeing(visit, events).map((one) => (
        <span key={one.seq}>
          <PersonName by={one.by ?? ""} kind={one.by_kind} giver={one.on_behalf_of} />,{" "}
        </span>
      ))}
      {by !== null && <PersonName by={by} kind={kind} giver={visit.verdict?.on_behalf_of} />}
      {after}
    </>
  );
}

/** The verdicts that count beside the closing one: a quorum is of several people. */
function agreeing({ step_id, visit, verdict }: TraceEntry, events: RunEvent[]): RunEvent[] {
  if (verdict === null) return [];
  const here = events.filter((one) => one.step_id === step_id && one.visit === visit);
  return here.filter(
    ({ type, by, seq, decision }) =>
      type === "verdict_given" &&
      by !== verdict.by &&
      decision === verdict.decision &&
      !here.some(
        (later) => later.type === "verdict_withdrawn" && later.giver === by && later.seq > seq,
      ),
  );
}

/** The duration of a live call, without the time until the decision. */
function callDuration({ mode, verdict, started_at, ended_at }: TraceEntry): string {
  if (mode !== "live" || ended_at === null || (verdict !== null && verdict.decision !== "approved"))
    return "";
  return ` · ${formatDuration(verdict?.at ?? started_at, ended_at)}`;
}
