/** The steps that a run has taken, in order, as a list. */

import type { Run, Visit } from "../types";
import { hand, ordinal } from "../sentences";
import { lasted, STEP } from "../words";
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
              {visit.visit > 1 && <span className="muted"> ({ordinal(visit.visit)} time)</span>}
            </button>
            <p className="muted small">
              <Hand visit={visit} />
              {called(visit)}
            </p>
          </div>
          {visit.mode !== null && <ModeBadge mode={visit.mode} />}
        </li>
      ))}
    </ol>
  );
}

function Hand({ visit }: { visit: Visit }) {
  const { by, before, after } = hand(visit, STEP[visit.status]);
  return (
    <>
      {before}
      {by !== null && <Label text={by} most={60} />}
      {after}
    </>
  );
}

/** How long a live call took, without the time that a person took to decide on it. */
function called({ mode, verdict, started_at, ended_at }: Visit): string {
  if (mode !== "live" || ended_at === null || (verdict !== null && verdict.decision !== "approved")) return "";
  return ` · ${lasted(verdict?.at ?? started_at, ended_at)}`;
}
