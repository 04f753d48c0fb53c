/** The steps that a run has taken, in order, as a list. */

import type { Run } from "../types";
import { decided, lasted, STEP } from "../words";
import { ModeBadge } from "./Bits";
import { Icon } from "./Icon";
import { Label } from "./Text";

interface Props {
  run: Run;
  label: (id: string) => string;
  chosen: string | null;
  onChoose: (id: string) => void;
}

export function Steps({ run, label, chosen, onChoose }: Props) {
  return (
    <ol className="steps">
      {run.trace.map((visit) => (
        <li key={`${visit.step_id} ${visit.visit}`} className={`step state-${visit.status}`}>
          <span className="step-sign" title={STEP[visit.status]}>
            <Icon name={visit.status} size={16} />
          </span>
          <div>
            <button type="button" className="step-name" aria-pressed={chosen === visit.step_id} onClick={() => onChoose(visit.step_id)}>
              <Label text={label(visit.step_id)} />
              {visit.visit > 1 && <span className="muted"> (time {visit.visit})</span>}
            </button>
            <p className="muted small">
              {STEP[visit.status]}
              {visit.verdict !== null ? (
                <>
                  : <Label text={visit.verdict.by} most={60} /> {decided(visit.verdict.decision)} it
                </>
              ) : (
                visit.resolved_by !== null && visit.resolved_by !== "autopilot" && (
                  <>
                    {" "}
                    by <Label text={visit.resolved_by} most={60} />
                  </>
                )
              )}
              {visit.mode === "live" && visit.ended_at !== null && ` · ${lasted(visit.started_at, visit.ended_at)}`}
            </p>
          </div>
          {visit.mode !== null && <ModeBadge mode={visit.mode} />}
        </li>
      ))}
    </ol>
  );
}
