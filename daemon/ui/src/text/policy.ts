/** The policy of a gate in words: who decides, how many, who may not, and what a deadline does. */

import type { Gate, OpenGate, Run } from "../api/types";
import { decisionLabel, formatTime, isAtLeast, ROLES } from "./labels";
import { countOf, joinNames, toSentence, withArticle } from "./sentences";

type Policy = Gate["policy"];
type WhyNot = NonNullable<OpenGate["why_not"]>;

const EARLIER_GATE = "gate:";
const UNITS: Record<string, string> = {
  Y: "year",
  M: "month",
  W: "week",
  D: "day",
  BD: "business day",
  TH: "hour",
  TM: "minute",
  TS: "second",
};

/** “72 hours”, “3 business days”. */
export function durationText(text: string): string {
  const [days, time = ""] = text.slice(1).split("T");
  const parts = [
    ...(days ?? "").matchAll(/(\d+)(BD|[YMWD])/g),
    ...time.matchAll(/(\d+)([HMS])/g),
  ].map((match) => {
    const unit = match.input === time ? `T${match[2] ?? ""}` : (match[2] ?? "");
    return countOf(Number(match[1]), UNITS[unit] ?? "");
  });
  return parts.length === 0 ? text : joinNames(parts);
}

/** “A manager, admin or owner of the group finance or board decides here.” */
export function decidersText({ role, groups }: Policy): string {
  const roles = ROLES.filter((one) => isAtLeast(one, role));
  const who = roles.length < 2 ? "The owner" : toSentence(withArticle(joinNames(roles, "or")));
  const of = groups.length === 0 ? "" : ` of the group ${joinNames(groups, "or")}`;
  return `${who.replace(/\.$/, "")}${of} decides here.`;
}

/** “2 people have to agree, 1 denial is enough to deny.”; nothing where one person decides. */
export function quorumText({ quorum, denials }: Policy): string | null {
  if (quorum < 2 && denials < 2) return null;
  const agree = quorum < 2 ? "1 person is enough to approve" : `${quorum} people have to agree`;
  return `${agree}, ${countOf(denials, "denial")} ${denials === 1 ? "is" : "are"} enough to deny.`;
}

/** “Not who started the run or decided at “First review”.” */
export function fourEyesText(
  { four_eyes }: Policy,
  label: (step: string) => string,
): string | null {
  if (four_eyes.length === 0) return null;
  return `Not who ${joinNames(
    four_eyes.map((word) => partText(word, label)),
    "or",
  )}.`;
}

function partText(word: string, label: (step: string) => string): string {
  if (word === "starter") return "started the run";
  if (word === "connector-author") return "last changed a connector that an approval uses";
  if (word === "template-author") return "published the template";
  return `decided at “${label(word.slice(EARLIER_GATE.length))}”`;
}

/** What happens at the deadline. */
export function deadlineText({ on_deadline }: Policy, escalated: boolean): string {
  if (on_deadline === null) return "";
  if (typeof on_deadline === "string") return outcomeText(on_deadline);
  const { escalate, again, then } = on_deadline;
  if (escalated) return then === null ? "" : outcomeText(then);
  const later =
    again === null || then === null ? "" : `, and ${durationText(again)} later ${outcome(then)}`;
  return `Then ${withArticle(escalate)} may decide, too${later}.`;
}

function outcomeText(decision: string): string {
  return `Then ${outcome(decision)}.`;
}

function outcome(decision: string): string {
  return decision === "denied" ? "it is denied" : `“${decisionLabel(decision)}” is taken`;
}

/** “2 of 3 have agreed.” */
export function countText({ policy, verdicts }: Gate, solo: boolean): string {
  const denied = verdicts.filter((one) => one.decision === "denied").length;
  const agreed = verdicts.length - denied;
  const needed = solo ? 1 : policy.quorum;
  const of = `${agreed} of ${countOf(needed, "approval")}`;
  return denied === 0
    ? `${of} so far.`
    : `${of}, ${denied} of ${countOf(policy.denials, "denial")}.`;
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
  if (why === "group") return `${decidersText(policy)} You are in none of these groups.`;
  if (why === "four_eyes")
    return `Somebody else has to decide here: you ${part(policy, run, me, label)}.`;
  if (why === "machine") return "Only people decide at a gate.";
  if (why === "already_decided")
    return "Your decision counts. The gate is open until enough people have decided.";
  return decidersText(policy);
}

/** What the reader had to do with the run. */
function part(policy: Policy, run: Run, me: string, label: (step: string) => string): string {
  if (policy.four_eyes.includes("starter") && run.created_by === me) return "started this run";
  const earlier = policy.four_eyes
    .filter((word) => word.startsWith(EARLIER_GATE))
    .map((word) => word.slice(EARLIER_GATE.length))
    .find((step) =>
      run.trace.some(
        ({ step_id, verdict }) =>
          step_id === step && (verdict?.by === me || verdict?.on_behalf_of === me),
      ),
    );
  if (earlier !== undefined) return `decided at “${label(earlier)}”`;
  return "published the template or last changed a connector that an approval uses";
}

/** “Overdue since …”, “Due in 3 h 12 min”; seconds below two minutes. */
export function dueText(due: string, now: number): string {
  const left = Math.round((Date.parse(due) - now) / 1000);
  if (left <= 0) return `Overdue since ${formatTime(due)}`;
  const [days, hours, minutes] = [left / 86_400, (left / 3_600) % 24, (left / 60) % 60].map(
    Math.floor,
  ) as [number, number, number];
  if (left < 120) return `Due in ${left} s`;
  if (days > 0) return `Due in ${days} d ${hours} h`;
  return hours > 0 ? `Due in ${hours} h ${minutes} min` : `Due in ${minutes} min`;
}
