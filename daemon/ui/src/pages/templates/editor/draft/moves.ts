/** What an author does on the graph: each a pure function with a new document. */

import {
  added,
  changed,
  type Draft,
  replaced,
  type Step,
  type StepKind,
  stepOf,
  type Way,
  waysOf,
  withWays,
} from "./document";

interface Edge {
  source: string;
  target: string;
  branch: string | null;
}

/** A way from one step to another; a task and a wait have one, a gate one for each decision. */
export function connected(draft: Draft, source: string, target: string): Draft {
  const step = stepOf(draft, source);
  if (step === undefined || step.kind === "end") return draft;
  const ways = waysOf(step);
  if (ways.some((way) => way.to === target)) return draft;
  return replaced(draft, source, withWays(step, withWay(step, ways, target)));
}

function withWay(step: Step, ways: Way[], to: string): Way[] {
  if (step.kind === "gateway" && step["flow"] === "exclusive")
    return [...ways, { branch: freeBranch(ways), when: null, to }];
  if (step.kind === "gateway" || ways.length === 0)
    return [...ways, { branch: null, when: null, to }];
  if (step.kind === "gate" && !ways.some((way) => way.branch === "denied"))
    return [
      ...ways.map((way) => ({ ...way, branch: way.branch ?? "approved" })),
      { branch: "denied", when: null, to },
    ];
  const [first, ...others] = ways;
  return [{ ...(first ?? { branch: null, when: null }), to }, ...others];
}

function freeBranch(ways: Way[]): string {
  const taken = new Set(ways.map((way) => way.branch));
  for (let number = ways.length + 1; ; number += 1)
    if (!taken.has(`way-${number}`)) return `way-${number}`;
}

export function disconnected(draft: Draft, edge: Edge): Draft {
  const step = stepOf(draft, edge.source);
  if (step === undefined) return draft;
  const ways = waysOf(step);
  const gone = place(ways, edge);
  return replaced(
    draft,
    step.id,
    withWays(
      step,
      ways.filter((_, number) => number !== gone),
    ),
  );
}

/** A new step in the middle of a way. */
export function between(draft: Draft, edge: Edge, kind: StepKind): { draft: Draft; id: string } {
  const step = stepOf(draft, edge.source);
  const target = stepOf(draft, edge.target);
  if (step === undefined || target === undefined) return added(draft, edge.source, kind);
  const made = added(draft, null, kind);
  const fresh = stepOf(made.draft, made.id);
  if (fresh === undefined) return made;
  // Without what led to it: it stands between the two alone.
  const ways = waysOf(step);
  const at = place(ways, edge);
  const before = withWays(
    step,
    ways.map((way, number) => (number === at ? { ...way, to: made.id } : way)),
  );
  const plain = withWays(fresh, onward(fresh, edge.target));
  const behind = draft.steps.findIndex((one) => one.id === step.id) + 1;
  const steps = draft.steps.map((one) => (one.id === step.id ? before : one));
  return {
    draft: { ...draft, steps: [...steps.slice(0, behind), plain, ...steps.slice(behind)] },
    id: made.id,
  };
}

function onward(step: Step, to: string): Way[] {
  if (step.kind === "end") return [];
  if (step["flow"] !== "exclusive") return [{ branch: null, when: null, to }];
  return [
    { branch: "yes", when: "true", to },
    { branch: "no", when: null, to },
  ];
}

function place(ways: Way[], edge: Edge): number {
  const exact = ways.findIndex((way) => way.to === edge.target && way.branch === edge.branch);
  return exact >= 0 ? exact : ways.findIndex((way) => way.to === edge.target);
}

/** A copy of a step behind another one; its ways are those of any new step there. */
export function pasted(
  draft: Draft,
  after: string | null,
  step: Step,
): { draft: Draft; id: string } {
  const made = added(draft, after, step.kind);
  const { id: _id, next: _next, branches: _branches, on_error: _error, ...members } = step;
  const label = `${step.label} (copy)`;
  return { draft: changed(made.draft, made.id, { ...members, label }), id: made.id };
}
