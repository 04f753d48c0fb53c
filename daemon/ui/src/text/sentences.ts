/** Sentences about gates, decisions, events and calls. */

import type { Gate, Mode, Panel, RunEvent, TraceEntry } from "../api/types";
import { panel as p } from "./en/panel";
import { sentences as t } from "./en/sentences";
import { formatList, formatShare } from "./formats";
import {
  decisionLabel,
  formatConfidence,
  formatTime,
  humanize,
  outcomeLabel,
  quoted,
  roleLabel,
} from "./labels";
import { locale } from "./locale";
import type { Value } from "./messages";

// What the service gives as a reason.
export const OUTCOME_UNKNOWN = "outcome unknown";
const CONNECTOR_CHANGED = "changed since approval";
const MAYBE_SENT = "failed after it may have been sent";
const SIGN_OFF = "this step is a human sign-off";
const EVERY_STEP = "every step of this run waits for a human";
const EVERY_STEP_OF_COMPANY = "every step of this company waits for a human";
const JUDGES_CLEAR = /^\d+ of \d+ judges clear it/;
const NO_BRANCH = "the condition of no branch holds";
const OTHERWISE = "no other branch applies";
const TIER_REASON = /^tier (\w+) (is cleared by the autopilot|needs a human verdict)$/;
const HOLDS = /^(.+) holds$/s;

/** “2nd”. */
export function ordinal(count: number): string {
  const rules = new Intl.PluralRules(locale(), { type: "ordinal" });
  const suffix = rules.select(count);
  return t(
    suffix === "one" || suffix === "two" || suffix === "few"
      ? `ordinal.${suffix}`
      : "ordinal.other",
    { n: String(count) },
  );
}

/** Capitalize a text and end it with one full stop. */
export function toSentence(text: string): string {
  const trimmed = text.trim();
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?…]$/.test(trimmed) ? "" : "."}`;
}

/** A decision as a predicate: “approved it”, “sent “Pay” again”; of the reader with `you`. */
export function describeDecision(decision: string, what?: string, you = false): string {
  return did(decision, what, you) as string;
}

/** “You approved “Pay””, of a label as an element. */
export function youDecided(decision: string, what: Value): Value {
  return t("youSentence", { you: t("you"), did: did(decision, what, true) });
}

function did(decision: string, what: Value | undefined, you: boolean): Value {
  const who = you ? "youDid" : "did";
  if (
    decision === "approved" ||
    decision === "denied" ||
    decision === "retry" ||
    decision === "done"
  )
    return t(`${who}.${decision}`, { what: what ?? t("it") });
  const chosen = decisionLabel(decision);
  return what === undefined
    ? t(`${who}.choseIt`, { decision: chosen })
    : t(`${who}.chose`, { decision: chosen, what });
}

/** The actor at the beginning of a sentence. */
export function actorName(
  by: string,
  me: string,
  nameOf: (by: string) => string = (email) => email,
): string {
  if (by === me) return t("you");
  return by === "autopilot" || by === "deadline" ? t(by) : nameOf(by);
}

/** Why a step went on, or waited for a person. */
export function stepReason(reason: string): string {
  const [, tier, how] = TIER_REASON.exec(reason) ?? [];
  if (tier !== undefined)
    return t.code(how?.startsWith("is ") === true ? "cleared" : "tier", tier, toSentence(reason));
  const fixed = fixedReason(reason);
  if (fixed !== null) return fixed;
  const condition = HOLDS.exec(reason)?.[1];
  return condition === undefined ? toSentence(reason) : t("why.holds", { condition });
}

/** A reason that the service always gives in the same words; null for another. */
function fixedReason(reason: string): string | null {
  if (reason === OUTCOME_UNKNOWN) return t("why.unknown");
  if (reason === CONNECTOR_CHANGED) return t("why.changed");
  if (reason === MAYBE_SENT) return t("why.maybeSent");
  if (reason === SIGN_OFF) return t("why.signOff");
  if (reason === EVERY_STEP) return t("why.every");
  if (reason === EVERY_STEP_OF_COMPANY) return p("why.off");
  if (reason === NO_BRANCH) return t("why.noBranch");
  return reason === OTHERWISE ? t("why.otherwise") : null;
}

/** Why a gate waits; `input` is what an input is called. */
export function gateReason(
  gate: Gate,
  label: (step: string) => string = humanize,
  input: (name: string) => string = humanize,
): string {
  const rule = ruleSentence(gate, label, input);
  const pointers = gate.missing;
  return pointers.length === 0 || gate.reason.startsWith("the input ")
    ? rule
    : `${rule} ${missingInputsSentence(pointers, input)}`;
}

function ruleSentence(
  gate: Gate,
  label: (step: string) => string,
  input: (name: string) => string,
): string {
  const reason = gate.reason.replace(/, and the input .*$/, "");
  if (reason.startsWith("tier ")) return t.code("tier", gate.tier);
  const fixed = fixedReason(reason);
  if (fixed !== null) return fixed;
  if (gate.panel !== null && JUDGES_CLEAR.test(reason)) return panelSentence(gate.panel);
  if (reason.startsWith("the signal of "))
    return t("signalsReviewed", signalNames(gate.signals, label));
  if (reason.startsWith("the input "))
    return missingInputsSentence(
      gate.missing.length
        ? gate.missing
        : [reason.replace(/^the input /, "").replace(/ is missing$/, "")],
      input,
    );
  return toSentence(reason);
}

function panelSentence(panel: Panel): string {
  const { clear, votes, quorum, weighed } = panel;
  const said = p("summary", { clear, all: votes.length, count: quorum });
  if (weighed === null) return said;
  const lower = weighed.lower == null ? "?" : formatShare(weighed.lower);
  switch (weighed.why) {
    case "few_cases":
      return `${said} ${p("why.few_cases", { count: weighed.cases ?? 0 })}`;
    case "below_floor":
      return `${said} ${p("why.below_floor", { lower, floor: formatShare(weighed.floor) })}`;
    case "sampled":
      return `${said} ${p("why.sampled")}`;
    case "off":
      return `${said} ${p("why.off")}`;
    default:
      return said;
  }
}

/** “Signal raised by “Watch list”.” */
export function signalSentence(signals: string[], label: (step: string) => string): string {
  return t("signals", signalNames(signals, label));
}

function signalNames(signals: string[], label: (step: string) => string) {
  return { count: signals.length, names: formatList(signals.map((name) => quoted(label(name)))) };
}

/** “The inputs “Amount” and “Member id” are missing.” */
function missingInputsSentence(pointers: string[], input: (name: string) => string): string {
  const names = pointers.map((pointer) => quoted(input(pointer.split("/").at(-1) ?? pointer)));
  return t("missing", { count: names.length, names: formatList(names) });
}

/** What a gate asks. Of a call whose outcome is unknown the service's sentence names all of it. */
export function asked(gate: { question: string | null; label: string; reason: string }): string {
  if (gate.reason === OUTCOME_UNKNOWN) return t("ask.unknown", { label: gate.label });
  return gate.question ?? gate.label;
}

/** The question of a gate, as [before, after] its label; null where the label is no part of it. */
export function gateQuestion(gate: Gate): [string, string] | null {
  const key = questionKey(gate);
  if (key === null) return null;
  const [before = "", after = ""] = t(key, { label: MARK }).split(MARK);
  return [before, after];
}

// Stands in for the label; no text contains it.
const MARK = "\u0000";

function questionKey(gate: Gate) {
  if (gate.reason === OUTCOME_UNKNOWN) return "ask.unknown";
  if (gate.reason === MAYBE_SENT) return "ask.maybeSent";
  if (gate.kind === "gateway" && gate.label.endsWith("?")) return "ask.choose";
  if (gate.kind === "gateway")
    return gate.decisions.includes("approved") ? "ask.continue" : "ask.branch";
  return gate.kind === "task" ? "ask.run" : null;
}

export interface EventDescription {
  /** The person who acted: `text` is then a predicate, otherwise a sentence. */
  by: string | null;
  text: string;
}

/** A history event in words. */
export function describeEvent(event: RunEvent, label: (step: string) => string): EventDescription {
  const by = event.by && event.by !== "autopilot" ? event.by : null;
  const step = event.step_id == null ? "" : quoted(label(event.step_id));
  const done = personPhrase(event, step);
  if (by !== null && done !== null) return { by, text: done };
  return { by: null, text: toSentence(systemPhrase(event, step, label)).replace(/\.$/, "") };
}

/** Whether an event only repeats the one before: a retry verdict also enters the step again. */
export function repeatsVerdict(event: RunEvent, before: RunEvent | undefined): boolean {
  return (
    event.type === "step_entered" &&
    before?.type === "verdict_given" &&
    before.decision === "retry" &&
    before.step_id === event.step_id &&
    before.by === event.by
  );
}

/** What a person did; null if the event is not a person's action. */
function personPhrase(event: RunEvent, step: string): string | null {
  switch (event.type) {
    case "run_started":
      return t("by.run_started");
    case "step_entered":
    case "step_cleared":
      return t(`by.${event.type}`, { step });
    case "verdict_given":
      return describeDecision(event.decision ?? "", step);
    case "proposal_made":
      return proposalPhrase(event, step);
    case "verdict_withdrawn":
      return event.giver === event.by
        ? t("by.tookBack", { step })
        : t("by.notCounting", { giver: event.giver ?? t("somebody"), step });
    case "message_received":
      return t("by.message", { name: event.name ?? "" });
    case "compensation_began":
      return t("by.compensation");
    case "run_migrated":
      return t("by.migrated", { version: event.template_version ?? "" });
    case "run_promoted":
      return t("by.promoted");
    case "glass_broken":
      return event.until == null
        ? t("by.glass_broken")
        : t("by.glassBrokenUntil", { until: formatTime(event.until) });
    case "gate_asked":
    case "gate_answered":
      return t(`by.${event.type}`, { step, text: event.text ?? "" });
    case "call_consumed":
      return t("by.call_consumed", { step });
    case "run_ended":
      return event.status === "cancelled" ? t("by.cancelled") : null;
    default:
      return null;
  }
}

/** “proposed “Approve” at “Sign-off” with a confidence of 86 %”. */
function proposalPhrase(event: RunEvent, step: string): string {
  const decision = decisionLabel(event.decision ?? "");
  return event.confidence == null
    ? t("by.proposed", { decision, step })
    : t("by.proposedSurely", { decision, step, confidence: formatConfidence(event.confidence) });
}

function systemPhrase(event: RunEvent, step: string, label: (id: string) => string): string {
  switch (event.type) {
    case "run_started":
      return t("event.started");
    case "step_entered":
      if (event.waiting === true) return t("event.branches", { step });
      return event.visit != null && event.visit > 1
        ? t("event.enteredAgain", { step, nth: ordinal(event.visit) })
        : t("event.entered", { step });
    case "panel_asked":
      return t("event.panelAsked", { step });
    case "judge_answered":
      return t(event.vote?.verdict === "clear" ? "event.judgeClears" : "event.judgeFlags", {
        step,
        judge: event.vote?.label ?? "",
      });
    case "panel_decided":
      return t("event.panelDecided", {
        step,
        clear: event.clear ?? 0,
        quorum: event.quorum ?? 0,
      });
    case "step_cleared":
      return event.branch
        ? t("event.wentOn", { step, branch: event.branch })
        : t("event.cleared", { step });
    case "call_settled":
      return event.error
        ? t("event.failed", { step, detail: event.error.detail })
        : t("event.finished", { step });
    case "verdict_given":
      return t("event.somebody", { did: describeDecision(event.decision ?? "", step) });
    case "proposal_made":
      return t("event.somebody", { did: proposalPhrase(event, step) });
    case "verdict_withdrawn":
      return t("event.withdrawn", { step });
    case "wait_began":
      return event.message
        ? t("event.waitsMessage", { step, message: event.message })
        : t("event.waitsTime", { step });
    case "wait_ended":
      return event.how === "message"
        ? t("event.gotMessage", { step })
        : t("event.waited", { step });
    case "message_received":
      return t("event.arrived", { name: event.name ?? "" });
    case "compensation_began":
      return t("event.undone");
    case "run_migrated":
      return t("event.migrated", { version: event.template_version ?? "" });
    case "run_promoted":
      return t("event.promoted");
    case "run_ended":
      return endPhrase(event);
    default:
      return gatePhrase(event, step, label);
  }
}

/** What happened at a gate without a person. */
function gatePhrase(event: RunEvent, step: string, label: (id: string) => string): string {
  switch (event.type) {
    case "gate_opened":
      return t("event.opened", { step });
    case "gate_reminded":
      return t("event.reminded", { step });
    case "gate_escalated":
      return t("event.escalated", { step, role: roleLabel(event.to ?? "") });
    case "gate_expired":
      return t("event.expired", { did: describeDecision(event.decision ?? "", step) });
    case "gate_rescheduled":
      return event.due_at == null
        ? t("event.rescheduled", { step })
        : t("event.rescheduledTo", { step, at: formatTime(event.due_at) });
    case "gate_blocked":
      return t("event.blocked", {
        step,
        count: event.needed ?? 0,
        eligible: event.eligible ?? 0,
      });
    case "gate_unblocked":
      return t("event.unblocked", { step });
    case "gate_asked":
    case "gate_answered":
    case "call_consumed":
      return t(`event.${event.type}`, { step });
    case "call_granted":
      return event.expires_at == null
        ? t("event.call_granted", { step })
        : t("event.callGrantedUntil", { step, until: formatTime(event.expires_at) });
    case "glass_broken":
      return t("event.glass_broken");
    case "glass_mended":
      return event.reader == null
        ? t("event.glass_mended")
        : t("event.glassMendedOf", { reader: event.reader });
    default:
      return clockPhrase(event, step, label);
  }
}

/** What became of a clock, and when it is due since then. */
function clockPhrase(event: RunEvent, step: string, label: (id: string) => string): string {
  const values = { clock: event.label ?? clockLabel(event.clock ?? "", label) };
  const due = (text: string) =>
    event.due_at == null ? text : t("event.clockDue", { text, at: formatTime(event.due_at) });
  switch (event.type) {
    case "clock_started":
    case "clock_resumed":
    case "clock_extended":
    case "clock_rescheduled":
    case "clock_warned":
      return due(t(`event.${event.type}`, values));
    case "clock_paused":
    case "clock_breached":
      return t(`event.${event.type}`, values);
    case "clock_stopped":
      return event.stopped_by == null
        ? t("event.clock_stopped", values)
        : t("event.clockStoppedBy", { ...values, step: quoted(label(event.stopped_by)) });
    default:
      return step === "" ? humanize(event.type) : `${humanize(event.type)}: ${step}`;
  }
}

const CLOCK = "clock:";

/** What the label of a clock goes by among the labels of a run. */
export function clockKey(clock: string): string {
  return `${CLOCK}${clock}`;
}

function clockLabel(clock: string, label: (id: string) => string): string {
  const key = clockKey(clock);
  const found = label(key);
  return found === key ? humanize(clock) : found;
}

function endPhrase({ status, outcome, error }: RunEvent): string {
  if (status === "completed")
    return outcome
      ? t("event.completedAs", { outcome: outcomeLabel(outcome) })
      : t("event.completed");
  if (status === "cancelled") return t("event.cancelled");
  return error ? t("event.runFailedOf", { detail: error.detail }) : t("event.runFailed");
}

/** The state of a step and who acted on it. */
export function stepActor(
  visit: TraceEntry,
  state: string,
): { by: string | null; before: string; after: string } {
  const { verdict, resolved_by: by } = visit;
  if (verdict !== null) {
    const plain = ["done", "denied"].includes(visit.status) || verdict.decision === "retry";
    return {
      by: verdict.by,
      before: plain ? "" : `${state}: `,
      after: ` ${describeDecision(verdict.decision)}`,
    };
  }
  if (by !== null && by !== "autopilot")
    return { by, before: `${state}: `, after: ` ${t("sentAgain")}` };
  return { by: null, before: state, after: "" };
}

export type CallState =
  "planned" | "unknown" | "running" | "sent" | "failed" | "not_sent" | "interrupted" | "confirmed";

/** The state of a step's call; `gate` is the open gate at the step, if any. */
export function callState(visit: TraceEntry, gate: Gate | undefined): CallState {
  if (visit.status === "parked") return gate?.reason === OUTCOME_UNKNOWN ? "unknown" : "planned";
  if (visit.status === "denied") return "not_sent";
  if (visit.verdict?.decision === "done") return "confirmed";
  if (visit.verdict?.decision === "retry") return "unknown";
  if (visit.status === "cancelled") return visit.resolved_by === null ? "not_sent" : "interrupted";
  if (visit.status === "done") return "sent";
  return visit.status === "failed" ? "failed" : "running";
}

/** A sentence about the state of a call. */
export function describeCall(mode: Mode, state: CallState): string {
  if (mode === "live") return t(`call.${state}`);
  if (mode === "handed") return t(`handed.${state}`);
  if (state === "planned" || state === "sent") return t(`shadow.${state}`);
  return t("call.not_sent");
}
