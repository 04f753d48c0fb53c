/** What is wrong with a draft, by its steps. */

import type { SlowestPath, TemplateCheck, Violation } from "../../../../api/types";

export const CONDITION = "condition_refused";

/** The step at which a finding stands. */
export function placeOf(one: Violation): string | null {
  return one.node ?? one.edge?.source ?? null;
}

const NO_PATH: string[] = [];

/** A way on which a clock is not kept or a duty is avoided, or the slowest one of a clock. */
export type Proof = Violation | SlowestPath;

export function pathOf(one: Proof | undefined): string[] {
  return one?.path ?? NO_PATH;
}

/** What stays the same of a proof while the draft is checked again. */
export function keyOf(one: Proof): string {
  return "rule" in one ? `${one.rule} ${one.detail}` : one.clock;
}

/** The path to draw: that of the chosen proof while it is there, else that of the first finding. */
export function pathToShow(check: TemplateCheck | null, chosen: string | null): string[] {
  const late: Violation[] = (check?.violations ?? []).filter((one) => pathOf(one).length > 0);
  const proofs: Proof[] = [...late, ...(check?.clocks ?? [])];
  return pathOf(proofs.find((one) => keyOf(one) === chosen) ?? late[0]);
}

export function findingsByStep(check: TemplateCheck | null): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const one of check?.violations ?? []) {
    const at = placeOf(one);
    if (at !== null) found.set(at, [...(found.get(at) ?? []), one.detail]);
  }
  return found;
}
