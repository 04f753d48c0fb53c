/** A clock of a run in words: how much is left, when it is due, what holds it up and moves it. */

import type { Canvas, ClockRule, Run, RunClock } from "../api/types";
import { clocks as t } from "./en/clocks";
import { formatList, formatTimeIn } from "./formats";
import { decisionLabel, formatTime, inUnits, quoted } from "./labels";
import { durationText } from "./policy";

/** An ISO 8601 duration; all else is CEL. */
const DURATION = /^P(?=\d|T\d)[\dA-Z]+$/;
const QUESTION = "question:";
const CLOSE_S = 120;
const UNITS_S = { W: 604_800, D: 86_400, TH: 3_600, TM: 60, TS: 1 } as const;

export interface ClockReading {
  state: RunClock["state"] | "late";
  /** Seconds until it is due; below zero once it is past. */
  left: number;
  /** Seconds from its start until it is due, without those that it stood still. */
  whole: number;
  /** Whether it is so close to its end that its template warns. */
  near: boolean;
  text: string;
}

/** What a clock says at a time; `seen` is when the service gave it. */
export function readClock(
  clock: RunClock,
  rule: ClockRule | null,
  now: number,
  seen: number,
): ClockReading {
  const state = clock.state === "stopped" && clock.breached_at !== null ? "late" : clock.state;
  // One that stands still has as much left as when it was looked at.
  const going = clock.state === "paused" ? seen : Math.max(now, seen);
  const at = clock.stopped_at === null ? going : Date.parse(clock.stopped_at);
  if (clock.due_at === null)
    return { state, left: 0, whole: 0, near: false, text: t("lengthUnknown") };
  const due = Date.parse(clock.due_at);
  const left = (due - at) / 1_000;
  const whole = Math.max(
    0,
    Math.round((due - Date.parse(clock.started_at)) / 1_000 - clock.paused_s),
  );
  const near =
    clock.state === "running" && (rule?.warn ?? []).some((span) => left <= secondsOf(span));
  const exact = clock.state !== "running" && clock.state !== "breached";
  const named = wholeText(clock, rule, whole);
  const act = clock.stopped_by !== null;
  return { state, left, whole, near, text: leftText(state, left, named, { exact, act }) };
}

/** A clock that stands still, so many milliseconds after the service gave it. */
export function heldUp(clock: RunClock, rule: ClockRule | null, since: number): RunClock {
  if (clock.state !== "paused" || since <= 0) return clock;
  // When business days end is known to the calendar alone.
  const inBusinessDays = rule === null || `${rule.within} ${rule.extend?.by}`.includes("BD");
  const due =
    clock.due_at === null || inBusinessDays
      ? clock.due_at
      : new Date(Date.parse(clock.due_at) + since).toISOString();
  return { ...clock, due_at: due, paused_s: clock.paused_s + since / 1_000 };
}

function leftText(
  state: ClockReading["state"],
  left: number,
  whole: string,
  { exact, act }: { exact: boolean; act: boolean },
): string {
  if (state === "late") return t("late", { over: spanText(-left, true), whole });
  if (state === "stopped")
    return t(act ? "leftAtEnd" : "leftAtStop", { left: spanText(left, true), whole });
  return left < 0 || state === "breached"
    ? t("over", { over: spanText(-left, exact), whole })
    : t("left", { left: spanText(left, exact), whole });
}

/** “7 days and 14 days”: as the template says it; what an expression gives is counted. */
function wholeText(clock: RunClock, rule: ClockRule | null, seconds: number): string {
  if (rule === null || !isDuration(rule.within)) return spanText(seconds, true);
  const whole = durationText(rule.within);
  return clock.extended > 0 && rule.extend !== null
    ? t("andBy", { whole, by: durationText(rule.extend.by) })
    : whole;
}

export function isDuration(text: string): boolean {
  return DURATION.test(text);
}

/** “2 d 3 h 12 min”; to the second when close or `exact`. */
export function spanText(seconds: number, exact: boolean): string {
  const all = Math.max(0, Math.floor(seconds));
  const parts: [number, "d" | "h" | "min" | "s"][] = [
    [Math.floor(all / 86_400), "d"],
    [Math.floor(all / 3_600) % 24, "h"],
    [Math.floor(all / 60) % 60, "min"],
  ];
  if (exact || all < CLOSE_S) parts.push([all % 60, "s"]);
  const said = parts.filter(([count]) => count > 0);
  return said.length === 0 ? inUnits([0, "s"]) : inUnits(...said);
}

/** The seconds of a duration; a business day is a day, which is the least that it can be. */
function secondsOf(duration: string): number {
  const [days = "", time = ""] = duration.slice(1).split("T");
  const count = (text: string, unit: string, size: number) =>
    size * Number(new RegExp(`(\\d+)${unit}`).exec(text)?.[1] ?? 0);
  return (
    count(days, "W", UNITS_S.W) +
    count(days, "B?D", UNITS_S.D) +
    count(time, "H", UNITS_S.TH) +
    count(time, "M", UNITS_S.TM) +
    count(time, "S", UNITS_S.TS)
  );
}

/** When it is or was due, in the company's zone. */
export function clockDueText(clock: RunClock, due: string, zone: string | null): string {
  const at = timeInZone(due, zone);
  if (clock.state === "paused") return t("dueIfNow", { at });
  return clock.state === "running" ? t("due", { at }) : t("wasDue", { at });
}

/** A moment in the company's zone, which is named; in the reader's own where that is unknown. */
export function timeInZone(at: string, zone: string | null): string {
  const there = zone === null ? null : formatTimeIn(at, zone);
  return zone === null || there === null ? formatTime(at) : t("inZone", { at: there, zone });
}

/** Why it stands still, what stopped it, what may extend it or has; each a sentence. */
export function clockNotes(
  clock: RunClock,
  rule: ClockRule | null,
  run: Run,
  canvas: Canvas | null,
  zone: string | null,
): string[] {
  const label = (id: string) => canvas?.nodes.find((node) => node.id === id)?.label ?? id;
  const notes = [
    clock.state === "paused" ? pauseText(rule, run, label) : null,
    clock.paused_s >= 1 ? t("stoodStill", { span: spanText(clock.paused_s, true) }) : null,
    ...(clock.stopped_at === null
      ? clock.assumed.map((what) => t.code("assumed", what, what))
      : []),
    ...stopTexts(clock, rule, label, zone),
    extensionText(clock, rule, label),
    clock.source === null ? null : t("source", { source: clock.source }),
  ];
  return notes.filter((text) => text !== null);
}

function pauseText(rule: ClockRule | null, run: Run, label: (step: string) => string): string {
  const waits = new Set(
    run.trace.filter((one) => one.wait !== null && one.ended_at === null).map((one) => one.step_id),
  );
  const names = rule?.pauses ?? [];
  const waiting = names.find((name) => waits.has(name));
  if (waiting !== undefined) return pauseSentence(waiting, label);
  const gates = new Set(run.gates.map((gate) => gate.step_id));
  const asked = names.find(
    (name) => name.startsWith(QUESTION) && gates.has(name.slice(QUESTION.length)),
  );
  return asked === undefined ? t("standsStill") : pauseSentence(asked, label);
}

/** “It stands still while “Await records” waits.” */
function pauseSentence(name: string, label: (step: string) => string): string {
  return name.startsWith(QUESTION)
    ? t("questionAt", { step: label(name.slice(QUESTION.length)) })
    : t("waitsAt", { step: label(name) });
}

function stopTexts(
  clock: RunClock,
  rule: ClockRule | null,
  label: (step: string) => string,
  zone: string | null,
): string[] {
  if (clock.stopped_at === null)
    return rule === null ? [] : [t("stopsWhen", { steps: stepNames(rule.stops, label) })];
  const at = timeInZone(clock.stopped_at, zone);
  if (clock.stopped_by !== null) return [t("stoppedBy", { step: label(clock.stopped_by), at })];
  const stopped = t("stopped", { at });
  return clock.reason === null ? [stopped] : [stopped, t("nothingAsked", { why: clock.reason })];
}

function extensionText(
  clock: RunClock,
  rule: ClockRule | null,
  label: (step: string) => string,
): string | null {
  const extend = rule?.extend ?? null;
  if (clock.extended > 0)
    return extend === null
      ? t("extendedOften", { count: clock.extended })
      : t("extended", { count: clock.extended, by: durationText(extend.by) });
  return extend === null || clock.stopped_at !== null ? null : canExtendText(extend, label);
}

/** “Extended” at “Extension” extends it by 14 days, once “Send the extension” is done. */
export function canExtendText(
  extend: NonNullable<ClockRule["extend"]>,
  label: (step: string) => string,
): string {
  return t("canExtend", {
    decision: decisionLabel(extend.decision),
    step: label(extend.at),
    by: durationText(extend.by),
    notice: label(extend.once_done),
  });
}

/** “Notify of the approval” or “Send the denial”. */
export function stepNames(steps: string[], label: (step: string) => string): string {
  return formatList(
    steps.map((step) => quoted(label(step))),
    "disjunction",
  );
}

/** Where a clock stands still, waits and questions in words. */
export function pauseNames(rule: ClockRule, label: (step: string) => string): string {
  return formatList(
    rule.pauses.map((name) =>
      name.startsWith(QUESTION)
        ? t("pausesQuestion", { step: label(name.slice(QUESTION.length)) })
        : quoted(label(name)),
    ),
    "disjunction",
  );
}
