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

/** The settings to store. What is no number is sent as it stands, so that the service says so. */
export function bodyOf(draft: Draft): unknown {
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

function typed(value: number): string {
  return numberText(String(value));
}

function given(text: string): number | string {
  const value = Number(numberJson(text));
  return text.trim() === "" || Number.isNaN(value) ? text : value;
}
