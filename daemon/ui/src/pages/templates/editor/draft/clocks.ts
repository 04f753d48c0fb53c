/** The clocks of a draft: how long the law gives, and the steps that start, stop and move them. */

import type { Draft, Step } from "./document";

export interface Extension {
  at: string;
  decision: string;
  by: string;
  once_done: string;
}

export interface Clock {
  id: string;
  label: string;
  from?: string | undefined;
  from_step?: string | undefined;
  within: string;
  stops: string[];
  pauses?: string[] | undefined;
  extend?: Extension | undefined;
  warn?: string[] | undefined;
  on_breach?: { escalate: string } | undefined;
  source?: string | undefined;
  [member: string]: unknown;
}

/** A deadline that lies so long before a clock is due. */
export interface Anchor {
  clock: string;
  before: string;
}

const QUESTION = "question:";

export function clocksIn(draft: Draft): Clock[] {
  return Array.isArray(draft["clocks"]) ? (draft["clocks"] as Clock[]) : [];
}

/** A week from the start of a run, which the last task stops. */
export function clockAdded(draft: Draft, label: string): Draft {
  const clocks = clocksIn(draft);
  const taken = new Set(clocks.map((clock) => clock.id));
  let number = clocks.length + 1;
  while (taken.has(`clock-${number}`)) number += 1;
  const acts = draft.steps.filter((step) => step.kind === "task");
  const act = acts.at(-1) ?? draft.steps.find((step) => step.kind !== "end") ?? draft.steps[0];
  const made = { id: `clock-${number}`, label, within: "P7D", stops: act ? [act.id] : [] };
  return withClocks(draft, [...clocks, made]);
}

export function clockChanged(draft: Draft, id: string, members: Partial<Clock>): Draft {
  return withClocks(
    draft,
    clocksIn(draft).map((clock) => (clock.id === id ? cleaned({ ...clock, ...members }) : clock)),
  );
}

/** Another id for a clock, in the deadlines and ends that name it, too. */
export function clockRenamed(draft: Draft, id: string, name: string): Draft {
  const whole = clockChanged(draft, id, { id: name });
  return { ...whole, steps: whole.steps.map((step) => withClockNamed(step, id, name)) };
}

/** Without a clock; deadlines before it and ends of it are gone with it. */
export function clockRemoved(draft: Draft, id: string): Draft {
  const whole = withClocks(
    draft,
    clocksIn(draft).filter((clock) => clock.id !== id),
  );
  return { ...whole, steps: whole.steps.map((step) => withClockNamed(step, id, null)) };
}

function withClockNamed(step: Step, id: string, name: string | null): Step {
  const { deadline, ends_clocks: ends, ...rest } = step;
  const made: Record<string, unknown> = { ...step };
  if (isAnchor(deadline) && deadline.clock === id) {
    if (name === null) delete made["deadline"];
    else made["deadline"] = { ...deadline, clock: name };
  }
  if (ends !== null && typeof ends === "object" && id in ends) {
    const kept = Object.entries(ends as Record<string, string>).flatMap(([one, why]) =>
      one !== id ? [[one, why]] : name === null ? [] : [[name, why]],
    );
    if (kept.length === 0) delete made["ends_clocks"];
    else made["ends_clocks"] = Object.fromEntries(kept) as unknown;
  }
  return made as typeof rest & Step;
}

export function isAnchor(deadline: unknown): deadline is Anchor {
  return typeof deadline === "object" && deadline !== null && "clock" in deadline;
}

/** Another id for a step in the clocks that name it. */
export function timedAs(draft: Draft, step: string, name: string): Draft {
  return withSteps(draft, (one) => (one === step ? name : one));
}

/** Without a step in the clocks that name it. */
export function untimed(draft: Draft, step: string): Draft {
  return withSteps(draft, (one) => (one === step ? null : one));
}

function withSteps(draft: Draft, to: (step: string) => string | null): Draft {
  if (clocksIn(draft).length === 0) return draft;
  const each = (names: string[] | undefined) => names?.flatMap((name) => to(name) ?? []);
  const asked = (name: string) =>
    name.startsWith(QUESTION) ? prefixed(to(name.slice(QUESTION.length))) : to(name);
  return withClocks(
    draft,
    clocksIn(draft).map((clock) => {
      const { from_step: from, extend } = clock;
      const [at, done] = extend === undefined ? [] : [to(extend.at), to(extend.once_done)];
      return cleaned({
        ...clock,
        stops: each(clock.stops) ?? [],
        pauses: clock.pauses?.flatMap((name) => asked(name) ?? []),
        from_step: from === undefined ? undefined : (to(from) ?? undefined),
        extend:
          extend !== undefined && at != null && done != null
            ? { ...extend, at, once_done: done }
            : undefined,
      });
    }),
  );
}

function prefixed(step: string | null): string | null {
  return step === null ? null : `${QUESTION}${step}`;
}

/** Without the members that say nothing; a time that is being written stays. */
function cleaned(clock: Clock): Clock {
  return Object.fromEntries(
    Object.entries(clock).filter(
      ([name, value]) =>
        name === "stops" ||
        (value !== undefined &&
          (value !== "" || name !== "source") &&
          !(Array.isArray(value) && value.length === 0)),
    ),
  ) as Clock;
}

function withClocks(draft: Draft, clocks: Clock[]): Draft {
  const { clocks: _before, ...rest } = draft;
  return { ...(rest as Draft), ...(clocks.length === 0 ? {} : { clocks }) };
}
