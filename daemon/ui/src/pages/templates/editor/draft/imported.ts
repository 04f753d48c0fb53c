/** What a file said that its draft cannot say, kept in this browser until somebody has seen to it. */

import type { Violation } from "../../../../api/types";

const GONE = new Set(["unsupported_element", "condition_refused"]);

function keyOf(vertical: string): string {
  return `penstock.imported.${vertical}`;
}

/** Of all violations of an import those that no check of the draft finds again. */
export function keepImported(vertical: string, violations: readonly Violation[]): void {
  const lost = violations.filter((one) => GONE.has(one.rule));
  try {
    if (lost.length === 0) localStorage.removeItem(keyOf(vertical));
    else localStorage.setItem(keyOf(vertical), JSON.stringify(lost));
  } catch {
    // Without storage they are shown nowhere but in the answer of the import.
  }
}

export function importedOf(vertical: string): Violation[] {
  try {
    return JSON.parse(localStorage.getItem(keyOf(vertical)) ?? "[]") as Violation[];
  } catch {
    return [];
  }
}
