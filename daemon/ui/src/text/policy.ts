/** The policy of a gate in words: who decides, how many, who may not, and what a deadline does. */

import type { Gate, OpenGate, Run } from "../api/types";
import { sentences as t } from "./en/sentences";
import { formatList, formatUnit } from "./formats";
import { aRole, decisionLabel, formatTime, inUnits, rolesFrom } from "./labels";

type Policy = Gate["policy"];
type WhyNot = NonNullable<OpenGate["why_not"]>;

const EARLIER_GATE = "gate:";
const UNITS = {
  Y: "year",
  M: "month",
  W: "week",
  D: "day",
  TH: "hour",
  TM: "minute",
  TS: "second",
} as const;

/** “72 hours”, “3 business days”. */
export function durationText(text: string): string {
  const [days, time = ""] = text.slice(1).split("T");
  const parts = [
    ...(days ?? "").matchAll(/(\d+)(BD|[YMWD])/g),
    ...time.matchAll(/(\d+)([HMS])/g),
  ].map((match) => {
    const unit = match.input === time ? `T${match[2] ?? ""}` : (match[2] ?? "");
    const count = Number(match[1]);
    return unit === "BD"
      ? t("businessDays", { count })
      : formatUnit(count, UNITS[unit as keyof typeof UNITS], "long");
  });
  return parts.length === 0 ? text : formatList(parts);
}

/**
 * “A manager, admin or owner of the group finance or board decides here.” Of a function: who fills
 * it, or that nobody is bound to it and who decides instead.
 */
export function decidersText({ policy, function: filled }: Gate): string {
  const { role, groups } = policy;
  if (filled?.bound === true) return t("policy.function", { function: filled.label });
  if (filled !== null) {
    const who = t.code("anyRole", role);
    return groups.length === 0
      ? t("policy.unbound", { function: filled.label, who })
      : t("policy.unboundOf", {
          function: filled.label,
          who,
          groups: formatList(groups, "disjunction"),
        });
  }
  const roles = rolesFrom(role);
  return groups.length === 0
    ? t("policy.decide", { roles })
    : t("policy.decideOf", { roles, groups: formatList(groups, "disjunction") });
}

/** “2 people have to agree, 1 denial is enough to deny.”; nothing where one person decides. */
export function quorumText({ quorum, denials }: Policy): string | null {
  if (quorum < 2 && denials < 2) return null;
  return t("policy.quorum", { agree: t("policy.agree", { count: quorum }), count: denials });
}

/** “Not who started the run or decided at “First review”.” */
export function fourEyesText(
  { four_eyes }: Policy,
  label: (step: string) => string,
): string | null {
  if (four_eyes.length === 0) return null;
  return t("policy.not", {
    parts: formatList(
      four_eyes.map((word) => partText(word, label)),
      "disjunction",
    ),
  });
}

function partText(word: string, label: (step: string) => string): string {
  return word.startsWith(EARLIER_GATE)
    ? t("part.gate", { step: label(word.slice(EARLIER_GATE.length)) })
    : t.code("part", word);
}

/** Who started a run: by themselves, by a key that they made, or that acted for them. */
export function startersOf({ created_by, made_by, on_behalf_of }: Run): (string | null)[] {
  return [created_by, made_by, on_behalf_of];
}

/** That nobody denies a call of duty. */
export function dutyText({ kind, decisions }: Gate): string | null {
  return kind === "task" && !decisions.includes("denied") ? t("policy.duty") : null;
}

/** “It is 2 days before the clock “Notice” is due.” */
export function anchorText({ deadline }: Policy, clock: (id: string) => string): string | null {
  if (deadline === null || typeof deadline === "string") return null;
  return t("anchored", { span: durationText(deadline.before), clock: clock(deadline.clock) });
}

/** What happens at the deadline. */
export function deadlineText({ on_deadline }: Policy, escalated: boolean): string {
  if (on_deadline === null) return "";
  if (typeof on_deadline === "string") return outcomeText(on_deadline);
  const { escalate, again, then } = on_deadline;
  if (escalated) return then === null ? "" : outcomeText(then);
  const role = aRole(escalate);
  if (again === null || then === null) return t("escalate", { role });
  const span = durationText(again);
  return then === "denied"
    ? t("escalateDenied", { role, span })
    : t("escalateTaken", { role, span, decision: decisionLabel(then) });
}

function outcomeText(decision: string): string {
  return decision === "denied"
    ? t("then.denied")
    : t("then.taken", { decision: decisionLabel(decision) });
}

/** “2 of 3 have agreed.” */
export function countText({ policy, verdicts }: Gate, solo: boolean): string {
  const denied = verdicts.filter((one) => one.decision === "denied").length;
  const agreed = verdicts.length - denied;
  const needed = solo ? 1 : policy.quorum;
  const approvals = t("approvals", { agreed, count: needed });
  return denied === 0
    ? t("soFar", { approvals })
    : t("soFarBoth", { approvals, denials: t("denials", { denied, count: policy.denials }) });
}

/** Why the reader may not decide. */
export function whyNotText(
  why: WhyNot,
  gate: Gate,
  run: Run,
  me: string,
  label: (step: string) => string,
): string {
  const { policy } = gate;
  if (why === "group") return t("whyNot.group", { deciders: decidersText(gate) });
  if (why === "function") return t("whyNot.function", { deciders: decidersText(gate) });
  if (why === "four_eyes") return partSentence(policy, run, me, label);
  return t.code("whyNot", why, decidersText(gate));
}

/** What the reader had to do with the run. */
function partSentence(
  policy: Policy,
  run: Run,
  me: string,
  label: (step: string) => string,
): string {
  if (policy.four_eyes.includes("starter") && startersOf(run).includes(me))
    return t(run.created_by === me ? "whyNot.starter" : "whyNot.key");
  const earlier = policy.four_eyes
    .filter((word) => word.startsWith(EARLIER_GATE))
    .map((word) => word.slice(EARLIER_GATE.length))
    .find((step) =>
      run.trace.some(
        ({ step_id, verdict }) =>
          step_id === step && (verdict?.by === me || verdict?.on_behalf_of === me),
      ),
    );
  return earlier === undefined ? t("whyNot.author") : t("whyNot.gate", { step: label(earlier) });
}

/** “Overdue since …”, “Due in 3 h 12 min”; seconds below two minutes, days from two days on. */
export function dueText(due: string, now: number, short = false): string {
  const left = Math.round((Date.parse(due) - now) / 1000);
  if (left <= 0 && short) return t("overdueBy", { left: timeLeft(-left) });
  if (left <= 0) return t("overdue", { at: formatTime(due) });
  return t("due", { left: timeLeft(left) });
}

function timeLeft(seconds: number): string {
  if (seconds < 120) return inUnits([seconds, "s"]);
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor(seconds / 3_600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  if (days > 1) return inUnits([days, "d"]);
  if (days > 0) return inUnits([days, "d"], [hours, "h"]);
  if (hours > 0) return inUnits([hours, "h"], [minutes, "min"]);
  return inUnits([minutes, "min"]);
}
