/** The small parts that every page is made of. */

import { type ReactNode, useEffect, useRef } from "react";
import type { Problem } from "../api";
import { useNow } from "../hooks";
import type { RunStatus, Tier } from "../types";
import { ago, forHowLong, moment, STATUS, STEP, type StepState } from "../words";
import { Icon, type IconName } from "./Icon";
import { Label, plain } from "./Text";

export function TierBadge({ tier }: { tier: Tier }) {
  return (
    <span className={`badge tier-${tier}`}>
      <Icon name={tier} size={14} /> {tier === "critical" ? "Critical" : tier === "high" ? "High" : tier === "medium" ? "Medium" : "Low"} risk
    </span>
  );
}

const SIGNS: Record<RunStatus, StepState> = { executing: "calling", parked: "parked", completed: "done", failed: "failed", cancelled: "cancelled" };

export function StatusBadge({ status }: { status: RunStatus }) {
  return (
    <span className={`badge state-${SIGNS[status]}`}>
      <Icon name={SIGNS[status]} size={14} /> {STATUS[status]}
    </span>
  );
}

export function StepBadge({ state }: { state: StepState }) {
  return (
    <span className={`badge state-${state}`}>
      <Icon name={state} size={14} /> {STEP[state]}
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

export function When({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, now)}
    </time>
  );
}

export function ForHowLong({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={moment(at)}>
      {forHowLong(at, now)}
    </time>
  );
}

/** The heading of a page: it takes the focus, so that whoever listens hears where they are. */
export function Heading({ title, children, name }: { title: string; children?: ReactNode; name?: ReactNode }) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${plain(title, 80)} · Penstock`;
  }, [title]);
  useEffect(() => {
    if (document.activeElement === null || document.activeElement === document.body) ref.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header className="heading">
      <h1 ref={ref} tabIndex={-1}>
        {name ?? title}
      </h1>
      {children}
    </header>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={icon} size={32} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** What went wrong, in the service's own sentence, and what can be done about it. */
export function Trouble({ problem, retry }: { problem: Problem; retry?: () => void }) {
  const away = problem.code === "offline" || problem.status === 503;
  const missing = problem.status === 404;
  return (
    <div className="empty" role="alert">
      <Icon name={away ? "clock" : "info"} size={32} />
      <h2>{away ? "The service does not answer" : missing ? "There is nothing here" : "This did not work"}</h2>
      <p>{missing ? "It may have been removed, or the address has a mistake." : problem.message}</p>
      {retry !== undefined && !missing && (
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      )}
      {missing && (
        <a className="button" href="#/">
          Go to the inbox
        </a>
      )}
    </div>
  );
}

export function Loading({ rows = 4, what = "Loading" }: { rows?: number; what?: string }) {
  return (
    <div className="skeleton" role="status" aria-label={what}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="bone" />
      ))}
    </div>
  );
}

export function Note({ kind, title, children }: { kind: "info" | "good" | "warn" | "bad"; title: string; children?: ReactNode }) {
  const icons = { info: "info", good: "done", warn: "high", bad: "failed" } as const;
  return (
    <div className={`note note-${kind}`} role={kind === "bad" || kind === "warn" ? "alert" : "status"}>
      <Icon name={icons[kind]} size={20} />
      <div>
        <strong>
          <Label text={title} most={500} />
        </strong>
        {children}
      </div>
    </div>
  );
}
