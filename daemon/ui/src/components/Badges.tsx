/** Badges for risk tier, run status, step state and mode. */

import type { RunStatus, Tier } from "../api/types";
import { RUN_STATUS_LABELS, STEP_STATE_LABELS, type StepState } from "../text/labels";
import { countOf } from "../text/sentences";
import { Icon } from "./Icon";

export function TierBadge({ tier }: { tier: Tier }) {
  return (
    <span className={`badge tier-${tier}`}>
      <Icon name={tier} size={14} />{" "}
      {tier === "critical"
        ? "Critical"
        : tier === "high"
          ? "High"
          : tier === "medium"
            ? "Medium"
            : "Low"}{" "}
      risk
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
      <Icon name={STATUS_STATES[status]} size={14} /> {RUN_STATUS_LABELS[status]}
    </span>
  );
}

export function StepBadge({ state }: { state: StepState }) {
  return (
    <span className={`badge state-${state}`}>
      <Icon name={state} size={14} /> {STEP_STATE_LABELS[state]}
    </span>
  );
}

export function ProposalBadge({ count }: { count: number }) {
  return (
    <span className="badge">
      <Icon name="info" size={14} /> {countOf(count, "proposal")}
    </span>
  );
}

export function ModeBadge({ mode }: { mode: "shadow" | "live" }) {
  return (
    <span className={`badge mode-${mode}`}>
      <Icon name={mode} size={14} /> {mode === "live" ? "Live" : "Shadowed"}
    </span>
  );
}
