/** The sentences that the page puts together: who decided what, for how long, and what became of a call. */

import type { Gate, RunEvent, TraceEntry } from "../api/types";
import { decisionLabel, humanize } from "./labels";

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
export function countOf(count: number, one: string): string {
  return `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
}

/** “a manager”, “an owner”. */
export function withArticle(noun: string): string {
  return `${/^[aeiou]/i.test(noun) ? "an" : "a"} ${noun}`;
}

/** “A, B and C”. */
export function joinNames(names: string[]): string {
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
}

/** A text as a sentence: it begins with a capital letter and ends with one full stop. */
export function toSentence(text: string): string {
  const trimmed = text.trim();
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?…]$/.test(trimmed) ? "" : "."}`;
}

/** What a decision did, in front of what was decided and behind it. */
export function decisionPhrase(decision: string): [string, string] {
  switch (decision) {
    case "approved":
      return ["approved ", ""];
    case "denied":
      return ["denied ", ""];
    case "retry":
      return ["had ", " sent again"];
    case "done":
      return ["said that ", " was done"];
    default:
      return [`chose “${decisionLabel(decision)}” at `, ""];
  }
}

/** What somebody decided, as a predicate: “approved it”, “had “Pay” sent again”. */
export function describeDecision(decision: string, what = "it"): string {
  const [before, after] = decisionPhrase(decision);
  return what === "it" && before.startsWith("chose ") ? before.replace(/ at $/, "") : `${before}${what}${after}`;
}

/** Who decided, at the beginning of a sentence. */
export function actorName(by: string, me: string): string {
  if (by === me) return "You";
  return by === "autopilot" || by === "deadline" ? `The ${by}` : by;
}

/** Why a gate waits, for somebody who does not know the service. */
export function gateReason(gate: Gate, label: (step: string) => string = humanize): string {
  const rule = ruleSentence(gate, label);
  const lacks = gate.missing;
  return lacks.length === 0 || gate.reason.startsWith("the input ") ? rule : `${rule} ${missingInputsSentence(lacks)}`;
}

function ruleSentence(gate: Gate, label: (step: string) => string): string {
  const { tier } = gate;
  const reason = gate.reason.replace(/, and the input .*$/, "");
  if (reason === OUTCOME_UNKNOWN) return "The call may or may not have reached the other side. Nobody can know from here, so it is not sent again without you.";
  if (reason === CONNECTOR_CHANGED) return "The connector of this call was changed after the approval, so the call was not sent. Look at it as it is now.";
  if (reason === MAYBE_SENT) return "This call failed after it may have reached the other side, so it is not sent again without you.";
  if (reason.startsWith("tier ")) return `Steps of ${tier} risk always wait for a person.`;
  if (reason === "this step is a human sign-off") return "This step is a sign-off by a person.";
  if (reason === "every step of this run waits for a human") return "This run was started so that every step waits for a person.";
  if (reason.startsWith("the signal of ")) return `${signalSentence(gate.signals, label)} A person looks at ${gate.signals.length === 1 ? "it" : "them"} first.`;
  if (reason.startsWith("the input ")) return missingInputsSentence(gate.missing.length ? gate.missing : [reason.replace(/^the input /, "").replace(/ is missing$/, "")]);
  if (reason === "the condition of no branch holds") return "None of the rules for the next step applies, so a person chooses.";
  return toSentence(reason);
}

/** “A check has a hit: Watch list.” */
export function signalSentence(signals: string[], label: (step: string) => string): string {
  const names = joinNames(signals.map((one) => `“${label(one)}”`));
  return signals.length === 1 ? `A check has a hit: ${names}.` : `${signals.length} checks have a hit: ${names}.`;
}

/** “The inputs “Amount” and “Member id” are missing.” */
function missingInputsSentence(pointers: string[]): string {
  const names = pointers.map((pointer) => `“${humanize(pointer.split("/").at(-1) ?? pointer)}”`);
  return names.length === 1 ? `The input ${joinNames(names)} is missing.` : `The inputs ${joinNames(names)} are missing.`;
}

/** What a gate asks, in front of its label and behind it; null where the label does not belong into the sentence. */
export function gateQuestion(gate: Gate): [string, string] | null {
  if (gate.reason === OUTCOME_UNKNOWN) return ["Was the call of “", "” carried out?"];
  if (gate.reason === MAYBE_SENT) return ["May the call of “", "” be sent again?"];
  if (gate.kind === "gateway" && gate.label.endsWith("?")) return ["“", "” Choose the way that the run goes on."];
  if (gate.kind === "gateway" && !gate.decisions.includes("approved")) return ["Which way should the run go on from “", "”?"];
  if (gate.kind === "gateway") return ["May the run go on from “", "”?"];
  return gate.kind === "task" ? ["May “", "” be carried out?"] : null;
}

export interface EventDescription {
  /** The person whose doing it is; the text is a predicate then, and a whole sentence otherwise. */
  by: string | null;
  text: string;
}

/** An event of a history in words. */
export function describeEvent(event: RunEvent, label: (step: string) => string): EventDescription {
  const by = event.by && event.by !== "autopilot" ? event.by : null;
  const step = event.step_id == null ? "" : `“${label(event.step_id)}”`;
  const done = personPhrase(event, step);
  if (by !== null && done !== null) return { by, text: done };
  return { by: null, text: toSentence(systemPhrase(event, step)).replace(/\.$/, "") };
}

/** Whether an event says once more what the one before it said: a verdict to send again has the step begin again. */
export function repeatsVerdict(event: RunEvent, before: RunEvent | undefined): boolean {
  return event.type === "step_entered" && before?.type === "verdict_given" && before.decision === "retry" && before.step_id === event.step_id && before.by === event.by;
}

/** What a person did; null for what is nobody's doing. */
function personPhrase(event: RunEvent, step: string): string | null {
  switch (event.type) {
    case "run_started":
      return "started the run";
    case "step_entered":
      return `had ${step} tried again`;
    case "step_cleared":
      return `cleared ${step} to run`;
    case "verdict_given":
      return describeDecision(event.decision ?? "", step);
    case "run_ended":
      return event.status === "cancelled" ? "cancelled the run" : null;
    default:
      return null;
  }
}

function systemPhrase(event: RunEvent, step: string): string {
  const times = event.visit != null && event.visit > 1 ? ` for the ${ordinal(event.visit)} time` : "";
  switch (event.type) {
    case "run_started":
      return "the run was started";
    case "step_entered":
      return event.waiting === true ? `${step} waits for its other branches` : `${step} began${times}`;
    case "step_cleared":
      return event.branch ? `${step} went on to “${event.branch}”` : `${step} was cleared to run`;
    case "call_settled":
      return event.error ? `${step} failed: ${event.error.detail}` : `${step} finished`;
    case "gate_opened":
      return `${step} waits for a decision`;
    case "verdict_given":
      return `somebody ${describeDecision(event.decision ?? "", step)}`;
    case "run_ended":
      if (event.status === "completed") return `the run completed${event.outcome ? `: ${humanize(event.outcome)}` : ""}`;
      return event.status === "cancelled" ? "the run was cancelled" : `the run failed${event.error ? `: ${event.error.detail}` : ""}`;
    default:
      return step === "" ? humanize(event.type) : `${humanize(event.type)}: ${step}`;
  }
}

/** What a step of a run is in, beside its state: who had a hand in it. */
export function stepActor(visit: TraceEntry, state: string): { by: string | null; before: string; after: string } {
  const { verdict, resolved_by: by } = visit;
  if (verdict !== null) {
    const plain = ["done", "denied"].includes(visit.status) || verdict.decision === "retry";
    return { by: verdict.by, before: plain ? "" : `${state}: `, after: ` ${describeDecision(verdict.decision)}` };
  }
  if (by !== null && by !== "autopilot") return { by, before: `${state}: `, after: " had it sent again" };
  return { by: null, before: state, after: "" };
}

export type CallState = "ahead" | "unknown" | "running" | "sent" | "failed" | "unsent" | "cut" | "settled";

/** What is known of the call of a visit; `gate` is what is asked there, while something is. */
export function callState(visit: TraceEntry, gate: Gate | undefined): CallState {
  if (visit.status === "parked") return gate?.reason === OUTCOME_UNKNOWN ? "unknown" : "ahead";
  if (visit.status === "denied") return "unsent";
  if (visit.verdict?.decision === "done") return "settled";
  if (visit.verdict?.decision === "retry") return "unknown";
  if (visit.status === "cancelled") return visit.resolved_by === null ? "unsent" : "cut";
  if (visit.status === "done") return "sent";
  return visit.status === "failed" ? "failed" : "running";
}

const LIVE_CALL_TEXT: Record<CallState, string> = {
  ahead: "If you approve, this call is sent for real.",
  unknown: "This call may have been sent for real. Nobody can know from here.",
  running: "This call is being sent for real, and has not been answered yet.",
  sent: "This call was sent for real.",
  failed: "This call failed. It may have reached the other side.",
  unsent: "This call was not sent: nobody approved it here.",
  cut: "The run was cancelled while this call was out. It may have been sent.",
  settled: "This call was not sent again: a person said that it was done.",
};

/** What became of a call, or will. */
export function describeCall(mode: "shadow" | "live", state: CallState): string {
  if (mode === "live") return LIVE_CALL_TEXT[state];
  if (state === "ahead") return "Nothing will be sent. The run goes on with a sample answer of the template.";
  return state === "sent" ? "Nothing was sent. The run went on with a sample answer of the template." : "Nothing was sent.";
}
