/** The judges of a draft: each judges some of its steps of medium risk. */

import type { Draft } from "./document";

export interface Judge {
  id: string;
  label: string;
  steps: string[];
  rule?: string;
  tool?: string;
  confidence?: number;
}

function judgesIn(draft: Draft): Judge[] {
  return Array.isArray(draft["judges"]) ? (draft["judges"] as Judge[]) : [];
}

export function judgesOf(draft: Draft, step: string): Judge[] {
  return judgesIn(draft).filter((judge) => judge.steps.includes(step));
}

/** A rule that clears nothing before its author has written what it asks. */
export function judgeAdded(draft: Draft, step: string, label: string): Draft {
  const judges = judgesIn(draft);
  const taken = new Set(judges.map((judge) => judge.id));
  let number = judges.length + 1;
  while (taken.has(`judge-${number}`)) number += 1;
  const made: Judge = { id: `judge-${number}`, label, steps: [step], rule: "false" };
  return withJudges(draft, [...judges, made]);
}

export function judgeChanged(draft: Draft, id: string, members: Partial<Judge>): Draft {
  return withJudges(
    draft,
    judgesIn(draft).map((judge) => (judge.id === id ? { ...judge, ...members } : judge)),
  );
}

/** A rule or a tool; what only the other one has is left out. */
export function judgeAsks(draft: Draft, id: string, kind: "rule" | "tool"): Draft {
  return withJudges(
    draft,
    judgesIn(draft).map((judge) => {
      if (judge.id !== id) return judge;
      const { rule = "false", tool = "judge", confidence: _confidence, ...rest } = judge;
      return kind === "rule" ? { ...rest, rule } : { ...rest, tool };
    }),
  );
}

/** Without a judge at a step; one that judges no other is gone. */
export function judgeRemoved(draft: Draft, id: string, step: string): Draft {
  return seated(draft, (judge) =>
    judge.id === id ? judge.steps.filter((one) => one !== step) : judge.steps,
  );
}

export function judgedAs(draft: Draft, step: string, name: string): Draft {
  return seated(draft, (judge) => judge.steps.map((one) => (one === step ? name : one)));
}

export function unjudged(draft: Draft, step: string): Draft {
  return seated(draft, (judge) => judge.steps.filter((one) => one !== step));
}

function seated(draft: Draft, stepsOf: (judge: Judge) => string[]): Draft {
  const judges = judgesIn(draft).map((judge) => ({ ...judge, steps: stepsOf(judge) }));
  return withJudges(
    draft,
    judges.filter((judge) => judge.steps.length > 0),
  );
}

/** A step that nobody judges has no quorum of judges either. */
function withJudges(draft: Draft, judges: Judge[]): Draft {
  const { judges: before, ...rest } = draft;
  const judged = new Set(judges.flatMap((judge) => judge.steps));
  const left = judgesIn(draft).flatMap((judge) => judge.steps.filter((one) => !judged.has(one)));
  const steps = draft.steps.map((step) => {
    if (!left.includes(step.id)) return step;
    const { quorum: _quorum, ...plain } = step;
    return plain as typeof step;
  });
  if (judges.length === 0 && before === undefined) return draft;
  return { ...(rest as Draft), steps, ...(judges.length === 0 ? {} : { judges }) };
}
