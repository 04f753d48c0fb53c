/** Sentences about gates, decisions, events and calls. */

import type { Gate, RunEvent, TraceEntry } from "../api/types";
import { decisionLabel, formatConfidence, humanize } from "./labels";

export const OUTCOME_UNKNOWN = "outcome unknown";
const CONNECTOR_CHANGED = "changed since approval";
const MAYBE_SENT = "failed after it may have been sent";
const ORDINALS = new Intl.PluralRules("en", { type: "ordinal" });
const ORDINAL_SUFFIXES: Record<string, string> = { one: "st", two: "nd", few: "rd", other: "th" };

/** “2nd”. */
export function ordinal(count: number): string {
  return `${count}${ORDINAL_SUFFIXES[ORDINALS.select(count)] ?? "th"}`;
}

/** “1 step”, “2 steps”. */
export function countOf(count: number, name: string): string {
  return `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
}

/** “a manager”, “an owner”. */
export function withArticle(noun: string): string {
  return `${/^[aeiou]/i.test(noun) ? "an" : "a"} ${noun}`;
}

/** “A, B and C”, or with another word before the last. */
export function joinNames(names: string[], word = "and"): string {
  return names.length < 2
    ? (names[0] ?? "")
    : `${names.slice(0, -1).join(", ")} ${word} ${names.at(-1) ?? ""}`;
}

/** Capitalize a text and end it with one full stop. */
export function toSentence(text: string): string {
  const trimmed = text.trim();
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?…]$/.test(trimmed) ? "" : "."}`;
}

/** The words around the subject of a decision: [before, after]. */
export function decisionPhrase(decision: string): [string, string] {
  switch (decision) {
    case "approved":
      return ["approved ", ""];
    case "denied":
      return ["denied ", ""];
    case "retry":
      return ["sent ", " again"];
    case "done":
      return ["marked ", " as done"];
    default:
      return [`chose “${decisionLabel(decision)}” at `, ""];
  }
}

/** A decision as a predicate: “approved it”, “sent “Pay” again”. */
export function describeDecision(decision: string, what = "it"): string {
  const [before, after] = decisionPhrase(decision);
  return what === "it" && before.startsWith("chose ")
    ? before.replace(/ at $/, "")
    : `${before}${what}${after}`;
}

/** The actor at the beginning of a sentence. */
export function actorName(
  by: string,
  me: string,
  nameOf: (by: string) => string = (email) => email,
): string {
  if (by === me) return "You";
  return by === "autopilot" || by === "deadline" ? `The ${by}` : nameOf(by);
}

/** Why a gate waits. */
export function gateReason(gate: Gate, label: (step: string) => string = humanize): string {
  const rule = ruleSentence(gate, label);
  const pointers = gate.missing;
  return pointers.length === 0 || gate.reason.startsWith("the input ")
    ? rule
    : `${rule} ${missingInputsSentence(pointers)}`;
}

function ruleSentence(gate: Gate, label: (step: string) => string): string {
  const { tier } = gate;
  const reason = gate.reason.replace(/, and the input .*$/, "");
  if (reason === OUTCOME_UNKNOWN)
    return "The outcome of the call is unknown. It is sent again only if you decide so.";
  if (reason === CONNECTOR_CHANGED)
    return "The connector of this call changed after the approval, so the call was not sent. Review the current call.";
  if (reason === MAYBE_SENT)
    return "This call failed and may have reached the endpoint. It is sent again only if you decide so.";
  if (reason.startsWith("tier ")) return `Steps of ${tier} risk always wait for a person.`;
  if (reason === "this step is a human sign-off") return "This step is a sign-off by a person.";
  if (reason === "every step of this run waits for a human")
    return "Every step of this run waits for a person.";
  if (reason.startsWith("the signal of "))
    return `${signalSentence(gate.signals, label)} A person reviews ${gate.signals.length === 1 ? "it" : "them"} first.`;
  if (reason.startsWith("the input "))
    return missingInputsSentence(
      gate.missing.length
        ? gate.missing
        : [reason.replace(/^the input /, "").replace(/ is missing$/, "")],
    );
  if (reason === "the condition of no branch holds")
    return "No rule for the next step applies, so a person chooses.";
  return toSentence(reason);
}

/** “Signal raised by “Watch list”.” */
export function signalSentence(signals: string[], label: (step: string) => string): string {
  const names = joinNames(signals.map((name) => `“${label(name)}”`));
  return signals.length === 1 ? `Signal raised by ${names}.` : `Signals raised by ${names}.`;
}

/** “The inputs “Amount” and “Member id” are missing.” */
function missingInputsSentence(pointers: string[]): string {
  const names = pointers.map((pointer) => `“${humanize(pointer.split("/").at(-1) ?? pointer)}”`);
  return names.length === 1
    ? `The input ${joinNames(names)} is missing.`
    : `The inputs ${joinNames(names)} are missing.`;
}

/** The question of a gate, as [before, after] its label; null where the label is no part of it. */
export function gateQuestion(gate: Gate): [string, string] | null {
  if (gate.reason === OUTCOME_UNKNOWN) return ["Did the call of “", "” succeed?"];
  if (gate.reason === MAYBE_SENT) return ["May the call of “", "” be sent again?"];
  if (gate.kind === "gateway" && gate.label.endsWith("?")) return ["“", "” Choose the branch."];
  if (gate.kind === "gateway" && !gate.decisions.includes("approved"))
    return ["Which branch should the run take at “", "”?"];
  if (gate.kind === "gateway") return ["May the run continue after “", "”?"];
  return gate.kind === "task" ? ["Run “", "”?"] : null;
}

export interface EventDescription {
  /** The person who acted: `text` is then a predicate, otherwise a sentence. */
  by: string | null;
  text: string;
}

/** A history event in words. */
export function describeEvent(event: RunEvent, label: (step: string) => string): EventDescription {
  const by = event.by && event.by !== "autopilot" ? event.by : null;
  const step = event.step_id == null ? "" : `“${label(event.step_id)}”`;
  const done = personPhrase(event, step);
  if (by !== null && done !== null) return { by, text: done };
  return { by: null, text: toSentence(systemPhrase(event, step)).replace(/\.$/, "") };
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
      return "started the run";
    case "step_entered":
      return `retried ${step}`;
    case "step_cleared":
      return `cleared ${step} to run`;
    case "verdict_given":
      return describeDecision(event.decision ?? "", step);
    case "proposal_made":
      return proposalPhrase(event, step);
    case "verdict_withdrawn":
      return event.giver === event.by
        ? `took the decision at ${step} back`
        : `no longer counts the decision of ${event.giver ?? "somebody"} at ${step}`;
    case "message_received":
      return `delivered the message ${event.name ?? ""}`;
    case "compensation_began":
      return "had the run undone";
    case "run_migrated":
      return `let the run go on by version ${event.template_version ?? ""} of its template`;
    case "run_ended":
      return event.status === "cancelled" ? "cancelled the run" : null;
    default:
      return null;
  }
}

/** “proposed “Approve” at “Sign-off” with a confidence of 86 %”. */
function proposalPhrase(event: RunEvent, step: string): string {
  const sure =
    event.confidence == null ? "" : ` with a confidence of ${formatConfidence(event.confidence)}`;
  return `proposed “${decisionLabel(event.decision ?? "")}” at ${step}${sure}`;
}

function systemPhrase(event: RunEvent, step: string): string {
  const times =
    event.visit != null && event.visit > 1 ? ` for the ${ordinal(event.visit)} time` : "";
  switch (event.type) {
    case "run_started":
      return "the run was started";
    case "step_entered":
      return event.waiting === true
        ? `${step} waits for its other branches`
        : `${step} started${times}`;
    case "step_cleared":
      return event.branch ? `${step} went on to “${event.branch}”` : `${step} was cleared to run`;
    case "call_settled":
      return event.error ? `${step} failed: ${event.error.detail}` : `${step} finished`;
    case "gate_opened":
      return `${step} waits for a decision`;
    case "verdict_given":
      return `somebody ${describeDecision(event.decision ?? "", step)}`;
    case "proposal_made":
      return `somebody ${proposalPhrase(event, step)}`;
    case "verdict_withdrawn":
      return `a decision at ${step} no longer counts`;
    case "gate_reminded":
      return `a reminder was due at ${step}`;
    case "gate_escalated":
      return `the deadline of ${step} passed: people of the role ${event.to ?? ""} may decide, too`;
    case "gate_expired":
      return `the deadline ${describeDecision(event.decision ?? "", step)}`;
    case "gate_rescheduled":
      return `the calendar moved the deadline of ${step}`;
    case "gate_blocked":
      return `${step} needs ${event.needed ?? 0} people, and only ${event.eligible ?? 0} may decide`;
    case "gate_unblocked":
      return `enough people may decide at ${step} again`;
    case "wait_began":
      return `${step} waits for ${event.message ? `the message ${event.message}` : "its time"}`;
    case "wait_ended":
      return event.how === "message" ? `${step} got its message` : `${step} has waited`;
    case "message_received":
      return `the message ${event.name ?? ""} arrived`;
    case "compensation_began":
      return "what the run did is undone";
    case "run_migrated":
      return `the run goes on by version ${event.template_version ?? ""} of its template`;
    case "run_ended":
      if (event.status === "completed")
        return `the run completed${event.outcome ? `: ${humanize(event.outcome)}` : ""}`;
      return event.status === "cancelled"
        ? "the run was cancelled"
        : `the run failed${event.error ? `: ${event.error.detail}` : ""}`;
    default:
      return step === "" ? humanize(event.type) : `${humanize(event.type)}: ${step}`;
  }
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
    return { by, before: `${state}: `, after: " sent it again" };
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

const LIVE_CALL_TEXT: Record<CallState, string> = {
  planned: "This call is sent on approval.",
  unknown: "This call may have been sent. Its outcome is unknown.",
  running: "This call is in progress.",
  sent: "This call was sent.",
  failed: "This call failed. It may have reached the endpoint.",
  not_sent: "This call was not sent.",
  interrupted: "The run was cancelled during this call. It may have been sent.",
  confirmed: "This call was not sent again: a person marked it as done.",
};

/** A sentence about the state of a call. */
export function describeCall(mode: "shadow" | "live", state: CallState): string {
  if (mode === "live") return LIVE_CALL_TEXT[state];
  if (state === "planned")
    return "This call will not be sent. The run continues with a sample response from the template.";
  return state === "sent"
    ? "This call was not sent. The run continued with a sample response from the template."
    : "This call was not sent.";
}
