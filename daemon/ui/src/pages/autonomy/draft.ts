/** The settings as they are typed. */

import type { Autonomy } from "../../api/types";
import { numberJson, numberText } from "../../text/formats";

const THRESHOLD = 0.95;
const SAMPLE_ONE_IN = 5;

export interface LearnableDraft {
  name: string;
  threshold: string;
  sampleOneIn: string;
}

export interface Draft {
  autoResolve: boolean;
  confidenceFloor: string;
  irreversibleFloor: string;
  learnable: LearnableDraft[];
}

export function draftOf(settings: Autonomy): Draft {
  return {
    autoResolve: settings.auto_resolve,
    confidenceFloor: typed(settings.confidence_floor),
    irreversibleFloor: typed(settings.irreversible_floor),
    learnable: Object.entries(settings.learnable).map(([name, one]) =>
      learnableDraft(name, one.threshold, one.sample_one_in),
    ),
  };
}

export function learnableDraft(
  name: string,
  threshold = THRESHOLD,
  sampleOneIn = SAMPLE_ONE_IN,
): LearnableDraft {
  return { name, threshold: typed(threshold), sampleOneIn: typed(sampleOneIn) };
}

/** The members that were typed over: what somebody else changed meanwhile stays as it is.
 *
 *  What is no number is sent as it stands, so that the service says so. */
export function bodyOf(draft: Draft, before: Draft): unknown {
  const was = new Map(
    Object.entries(membersOf(before)).map(([name, value]) => [name, same(value)]),
  );
  return Object.fromEntries(
    Object.entries(membersOf(draft)).filter(([name, value]) => same(value) !== was.get(name)),
  );
}

function membersOf(draft: Draft) {
  return {
    auto_resolve: draft.autoResolve,
    confidence_floor: given(draft.confidenceFloor),
    irreversible_floor: given(draft.irreversibleFloor),
    learnable: Object.fromEntries(
      draft.learnable.map((one) => [
        one.name,
        { threshold: given(one.threshold), sample_one_in: given(one.sampleOneIn) },
      ]),
    ),
  };
}

/** The JSON pointer of a learnable step in the body. */
export function pointerOf(name: string): string {
  return `/learnable/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** What two equal members have in common. */
function same(value: unknown): string {
  return JSON.stringify(value);
}

function typed(value: number): string {
  return numberText(String(value));
}

function given(text: string): number | string {
  const value = Number(numberJson(text));
  return text.trim() === "" || Number.isNaN(value) ? text : value;
}
