/** What is wrong with a draft, by its steps. */

import type { TemplateCheck, Violation } from "../../../../api/types";

export const CONDITION = "condition_refused";

/** The step at which a finding stands. */
export function placeOf(one: Violation): string | null {
  return one.node ?? one.edge?.source ?? null;
}

const NO_PATH: string[] = [];

/** The steps of the way on which a clock is not kept or a duty is avoided. */
export function pathOfFinding(one: Violation): string[] {
  return one.path ?? NO_PATH;
}

/** The path to draw: that of the chosen finding while it is there, else the first. */
export function pathToShow(check: TemplateCheck | null, chosen: Violation | null): string[] {
  const found: Violation[] = (check?.violations ?? []).filter(
    (one) => pathOfFinding(one).length > 0,
  );
  const same = found.find((one) => one.rule === chosen?.rule && one.detail === chosen.detail);
  return pathOfFinding(same ?? found[0] ?? NOTHING);
}

const NOTHING: Violation = { rule: "", node: null, edge: null, detail: "" };

export function findingsByStep(check: TemplateCheck | null): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const one of check?.violations ?? []) {
    const at = placeOf(one);
    if (at !== null) found.set(at, [...(found.get(at) ?? []), one.detail]);
  }
  return found;
}
