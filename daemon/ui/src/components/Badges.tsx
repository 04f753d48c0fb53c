/** Badges for risk tier, run status, step state and mode. */

import type { Mode, RunStatus, Tier } from "../api/types";
import { modeLabel, riskLabel, statusLabel, stateLabel, type StepState } from "../text/labels";
import { Icon } from "./Icon";

export function TierBadge({ tier }: { tier: Tier }) {
  return (
    <span className={`badge tier-${tier}`}>
      <Icon name={tier} size={14} /> {riskLabel(tier)}
    </span>
  );
}

const STATUS_STATES: Record<RunStatus, StepState> = {
  executing: "calling",
  waiting: "waiting",
  parked: "parked",
  compensating: "calling",
  completed: "done",
  failed: "failed",
  cancelled: "cancelled",
};

export function StatusBadge({ status }: { status: RunStatus }) {
  return (
    <span className={`badge state-${STATUS_STATES[status]}`}>
      <Icon name={STATUS_STATES[status]} size={14} /> {statusLabel(status)}
    </span>
  );
}

/** A status in a row of a table, where an icon in each would be one more thing to draw. */
export function StatusWord({ status }: { status: RunStatus }) {
  return <span className={`badge state-${STATUS_STATES[status]}`}>{statusLabel(status)}</span>;
}

export function StepBadge({ state }: { state: StepState }) {
  return (
    <span className={`badge state-${state}`}>
      <Icon name={state} size={14} /> {stateLabel(state)}
    </span>
  );
}

export function ModeBadge({ mode }: { mode: Mode }) {
  return (
    <span className={`badge mode-${mode}`}>
      <Icon name={mode} size={14} /> {modeLabel(mode)}
    </span>
  );
}

export function ModeWord({ mode }: { mode: Mode }) {
  return <span className={`badge mode-${mode}`}>{modeLabel(mode)}</span>;
}
