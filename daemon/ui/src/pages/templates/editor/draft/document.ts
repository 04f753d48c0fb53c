/** A template document as its author changes it: pure functions, each with a new document. */

import { timedAs, untimed } from "./clocks";
import { judgedAs, unjudged } from "./judges";
import { editor as t } from "../../../../text/en/editor";

export interface Way {
  branch: string | null;
  when: string | null;
  to: string;
}

export type StepKind = "task" | "gate" | "gateway" | "wait" | "end";

export interface Step {
  id: string;
  kind: StepKind;
  label: string;
  [member: string]: unknown;
}

export interface Draft {
  vertical: string;
  title: string;
  steps: Step[];
  [member: string]: unknown;
}

/** The branch that a task takes when its call has failed. */
export const ERROR = "error";
const FORBIDDEN = new Set(["inputs", "facts"]);
export const KINDS: StepKind[] = ["task", "gate", "gateway", "wait", "end"];

export function kindName(kind: StepKind): string {
  return t(`kind.${kind}`);
}

const DEFAULTS: Record<StepKind, Record<string, unknown>> = {
  task: { effect: "read" },
  gate: {},
  gateway: { flow: "exclusive" },
  wait: { for: "PT24H" },
  end: { outcome: "done" },
};

export function newDraft(vertical: string, title: string): Draft {
  return {
    vertical,
    title,
    steps: [
      { id: "signoff", kind: "gate", label: t("signOff"), next: "done" },
      { id: "done", kind: "end", label: t("done"), outcome: "done" },
    ],
  };
}

/** A vertical made of a title: letters, digits and dashes. */
export function slugOf(title: string): string {
  const plain = title
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60);
  if (plain === "") return "step";
  return /^[a-z]/.test(plain) && !FORBIDDEN.has(plain) ? plain : `step-${plain}`;
}

/** A step as people choose it. */
export function nameOf(step: Step): string {
  return `${step.label} (${step.id})`;
}

export function stepOf(draft: Draft, id: string | null): Step | undefined {
  return draft.steps.find((step) => step.id === id);
}

/** The ways out of a step, whichever form the document has for them. */
export function waysOf(step: Step): Way[] {
  const { next, branches, on_error } = step;
  const found: Way[] = [];
  if (typeof next === "string") found.push({ branch: null, when: null, to: next });
  else if (Array.isArray(next))
    found.push(...(next as string[]).map((to) => ({ branch: null, when: null, to })));
  else if (next !== null && typeof next === "object")
    found.push(
      ...Object.entries(next as Record<string, string>).map(([branch, to]) => ({
        branch,
        when: null,
        to,
      })),
    );
  if (typeof on_error === "string") found.push({ branch: ERROR, when: null, to: on_error });
  for (const way of (branches as Partial<Way>[] | undefined) ?? [])
    found.push({ branch: way.branch ?? null, when: way.when ?? null, to: way.to ?? "" });
  return found;
}

/** The step with these ways out, in the plainest form that says them. */
export function withWays(step: Step, ways: Way[]): Step {
  const { next: _next, branches: _branches, on_error: _error, ...rest } = step;
  const made = rest as Step;
  let left = ways;
  const failing = ways.filter((way) => way.branch === ERROR && way.when === null);
  if (step.kind === "task" && failing.length === 1) {
    made["on_error"] = failing[0]?.to;
    left = ways.filter((way) => !failing.includes(way));
  }
  const names = left.map((way) => way.branch);
  const plain = left.every((way) => way.when === null);
  if (left.length === 0) return made;
  if (plain && left.length === 1 && names[0] === null) made["next"] = left[0]?.to;
  else if (plain && names.every((name) => name === null)) made["next"] = left.map((way) => way.to);
  else if (plain && step["flow"] !== "exclusive" && isDistinct(names))
    made["next"] = Object.fromEntries(left.map((way) => [way.branch, way.to]));
  else
    made["branches"] = left.map((way) => ({
      ...(way.branch === null ? {} : { branch: way.branch }),
      ...(way.when === null ? {} : { when: way.when }),
      to: way.to,
    }));
  return made;
}

function isDistinct(names: (string | null)[]): boolean {
  return !names.includes(null) && new Set(names).size === names.length;
}

export function changed(draft: Draft, id: string, members: Record<string, unknown>): Draft {
  return {
    ...draft,
    steps: draft.steps.map((step) => (step.id === id ? cleaned({ ...step, ...members }) : step)),
  };
}

/** Without the members that are empty. */
function cleaned(step: Step): Step {
  return Object.fromEntries(
    Object.entries(step).filter(([, value]) => value !== undefined && value !== ""),
  ) as Step;
}

export function replaced(draft: Draft, id: string, made: Step): Draft {
  return { ...draft, steps: draft.steps.map((step) => (step.id === id ? made : step)) };
}

/** Another id for a step, in every way that leads to it, too. */
export function renamed(draft: Draft, id: string, name: string): Draft {
  const steps = draft.steps.map((step) =>
    withWays(
      step.id === id ? { ...step, id: name } : step,
      waysOf(step).map((way) => (way.to === id ? { ...way, to: name } : way)),
    ),
  );
  const whole = timedAs(judgedAs(draft, id, name), id, name);
  return { ...whole, ...(draft["start"] === id ? { start: name } : {}), steps };
}

/** A step of another kind keeps its id, its label and its ways. */
export function ofKind(draft: Draft, id: string, kind: StepKind): Draft {
  const step = stepOf(draft, id);
  if (step === undefined) return draft;
  const plain: Step = { id, kind, label: step.label, ...DEFAULTS[kind] };
  const whole = kind === "task" ? draft : unjudged(draft, id);
  return replaced(whole, id, kind === "end" ? plain : withWays(plain, waysOf(step)));
}

/** A new step behind one, or before an end: what led on from there leads on from it. */
export function added(
  draft: Draft,
  after: string | null,
  kind: StepKind,
): { draft: Draft; id: string } {
  const id = freeId(draft, kind);
  const made: Step = { id, kind, label: kindName(kind), ...DEFAULTS[kind] };
  const at = stepOf(draft, after) ?? draft.steps.at(-1);
  if (at === undefined) return { draft: { ...draft, steps: [made] }, id };
  if (kind === "end") return { draft: inserted(draft, at.id, made), id };
  if (at.kind === "end") {
    const steps = draft.steps.map((step) =>
      withWays(
        step,
        waysOf(step).map((way) => (way.to === at.id ? { ...way, to: id } : way)),
      ),
    );
    const start = (draft["start"] ?? draft.steps[0]?.id) === at.id ? { start: id } : {};
    return { draft: inserted({ ...draft, ...start, steps }, at.id, leading(made, at.id), 0), id };
  }
  const [first, ...others] = waysOf(at);
  const before = withWays(at, [{ ...(first ?? { branch: null, when: null }), to: id }, ...others]);
  const whole = replaced(draft, at.id, before);
  return {
    draft: inserted(whole, at.id, first === undefined ? made : leading(made, first.to)),
    id,
  };
}

function leading(step: Step, to: string): Step {
  if (step["flow"] !== "exclusive") return withWays(step, [{ branch: null, when: null, to }]);
  return withWays(step, [
    // The author says when: what is always taken would be no choice, and yet valid.
    { branch: "yes", when: null, to },
    { branch: "no", when: null, to },
  ]);
}

function inserted(draft: Draft, at: string, step: Step, behind = 1): Draft {
  const place = draft.steps.findIndex((one) => one.id === at) + behind;
  return { ...draft, steps: [...draft.steps.slice(0, place), step, ...draft.steps.slice(place)] };
}

/** Without a step: what led there leads to where it led first. */
export function removed(draft: Draft, id: string): Draft {
  const step = stepOf(draft, id);
  const onward = step === undefined ? undefined : waysOf(step).find((way) => way.to !== id)?.to;
  const steps = draft.steps
    .filter((one) => one.id !== id)
    .map((one) =>
      withWays(
        one,
        waysOf(one).flatMap((way) =>
          way.to !== id ? [way] : onward === undefined ? [] : [{ ...way, to: onward }],
        ),
      ),
    );
  const { start, ...rest } = untimed(unjudged(draft, id), id);
  const begins = start === id ? onward : start;
  return { ...(rest as Draft), ...(begins === undefined ? {} : { start: begins }), steps };
}

export function freeId(draft: Draft, name: string): string {
  const taken = new Set(draft.steps.map((step) => step.id));
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? name : `${name}-${number}`;
    if (!taken.has(id)) return id;
  }
}
