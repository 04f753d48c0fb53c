/** What a new company has done so far, and who does not want to be reminded of the rest. */

import { get } from "../api/client";
import { getTemplates } from "../api/resources";
import type { Connector, RunRow } from "../api/types";

export interface FirstSteps {
  started: boolean;
  connected: boolean;
  drawn: boolean;
  /** The template whose example is tried. */
  example: string | null;
}

const EXAMPLE = "prior-auth";

export async function getFirstSteps(): Promise<FirstSteps> {
  const [runs, connectors, templates] = await Promise.all([
    get<RunRow[]>("/process-runs/?view=row&limit=1"),
    get<Connector[]>("/connectors/?limit=1"),
    getTemplates(),
  ]);
  const example = templates.find((one) => one.vertical === EXAMPLE) ?? templates[0];
  return {
    started: runs.length > 0,
    connected: connectors.length > 0,
    drawn: templates.some((one) => one.own),
    example: example?.vertical ?? null,
  };
}

function keyOf(member: string): string {
  return `penstock-first-steps-hidden-${member}`;
}

export function areHidden(member: string): boolean {
  try {
    return localStorage.getItem(keyOf(member)) !== null;
  } catch {
    return false;
  }
}

export function hideFirstSteps(member: string): void {
  try {
    localStorage.setItem(keyOf(member), "1");
  } catch {
    // storage is unavailable: they are hidden until the page is closed
  }
}
