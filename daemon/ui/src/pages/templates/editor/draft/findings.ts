/** What is wrong with a draft, by its steps. */

import type { TemplateCheck, Violation } from "../../../../api/types";

export const CONDITION = "condition_refused";

/** The step at which a finding stands. */
export function placeOf(one: Violation): string | null {
  return one.node ?? one.edge?.source ?? null;
}

export function findingsByStep(check: TemplateCheck | null): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const one of check?.violations ?? []) {
    const at = placeOf(one);
    if (at !== null) found.set(at, [...(found.get(at) ?? []), one.detail]);
  }
  return found;
}
