/** The clocks of a run, each as a bar with what is left beside it in words. */

import "../../styles/clocks.css";
import { useId, useMemo } from "react";
import type { Canvas, ClockRule, Run, RunClock } from "../../api/types";
import { useNowNear } from "../../state/now";
import { useCompanyZone } from "../../state/zone";
import { clockDueText, clockNotes, heldUp, readClock } from "../../text/clocks";
import { clocks as t } from "../../text/en/clocks";
import { formatTime } from "../../text/labels";
import { Label } from "../Text";

interface Props {
  run: Run;
  canvas: Canvas | null;
  /** What time it is in a run that is tried; without it, the reader's own. */
  at?: string;
}

export function ClockBars({ run, canvas, at }: Props) {
  const found = run.clocks;
  // The due time of a clock that stands still counts from when the service was asked.
  const seen = useMemo(() => (at === undefined ? Date.now() : Date.parse(at)), [run, at]);
  if (found.length === 0) return null;
  return (
    <section className="card clocks" aria-label={t("title")}>
      <h2>{t("title")}</h2>
      <ul>
        {found.map((clock) => (
          <ClockBar
            key={clock.id}
            clock={clock}
            rule={canvas?.clocks.find((one) => one.id === clock.id) ?? null}
            run={run}
            canvas={canvas}
            seen={seen}
            fixed={at !== undefined}
          />
        ))}
      </ul>
    </section>
  );
}

function ClockBar({
  clock: given,
  rule,
  run,
  canvas,
  seen,
  fixed,
}: {
  clock: RunClock;
  rule: ClockRule | null;
  run: Run;
  canvas: Canvas | null;
  seen: number;
  fixed: boolean;
}) {
  const id = useId();
  const zone = useCompanyZone();
  const now = useNowNear(given.due_at ?? given.started_at);
  const { state, left, whole, near, text } = readClock(given, rule, fixed ? seen : now, seen);
  const clock = fixed ? given : heldUp(given, rule, now - seen);
  const shown = state === "running" && left < 0 ? "breached" : state;
  const part = whole === 0 ? 0 : Math.min(1, Math.max(0, left / whole));
  return (
    <li className={`clock clock-${shown} ${near ? "clock-near" : ""}`}>
      <p className="clock-head">
        <strong id={id}>
          <Label text={clock.label} />
        </strong>
        <span className="badge">{t(`state.${shown}`)}</span>
      </p>
      <div
        className="clock-bar"
        role="meter"
        aria-labelledby={id}
        aria-valuemin={0}
        aria-valuemax={Math.max(1, Math.round(whole))}
        aria-valuenow={Math.round(part * whole)}
        aria-valuetext={text}
      >
        <span style={{ inlineSize: `${part * 100}%` }} />
      </div>
      <p className="clock-left">{text}</p>
      {clock.due_at !== null && (
        <p className="small">
          <time dateTime={clock.due_at} title={formatTime(clock.due_at)}>
            {clockDueText(clock, clock.due_at, zone)}
          </time>
        </p>
      )}
      {clockNotes(clock, rule, run, canvas, zone).map((note) => (
        <p className="muted small" key={note}>
          <Label text={note} maxLength={500} />
        </p>
      ))}
    </li>
  );
}
