/** A run of the draft that nobody started: what has happened, and what may happen next. */

import { useEffect, useState } from "react";
import { post, type Problem, toProblem } from "../../../../api/client";
import type { TriedTemplate, TryAct } from "../../../../api/types";
import type { Draft } from "./document";

export interface Rehearsal {
  tried: TriedTemplate | null;
  problem: Problem | null;
  /** With `stops` every step waits for a person. */
  begin: (inputs: Record<string, unknown>, stops: boolean) => void;
  act: (next: TryAct) => void;
  back: (() => void) | null;
  end: () => void;
}

/** Each change of a valid draft is tried at once with the same inputs and acts. */
export function useRehearsal(draft: Draft | null, valid: boolean): Rehearsal {
  const [inputs, setInputs] = useState<Record<string, unknown> | null>(null);
  const [stops, setStops] = useState(false);
  const [acts, setActs] = useState<TryAct[]>([]);
  const [tried, setTried] = useState<TriedTemplate | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    if (inputs === null || draft === null || !valid) return undefined;
    let dropped = false;
    const body = { document: draft, inputs, acts, auto_resolve: !stops };
    post<TriedTemplate>("/process-templates/try", body).then(
      (found) => {
        if (dropped) return;
        setTried(found);
        setProblem(null);
        if (found.taken < acts.length) setActs(acts.slice(0, found.taken));
      },
      (error: unknown) => !dropped && setProblem(toProblem(error)),
    );
    return () => {
      dropped = true;
    };
  }, [draft, valid, inputs, stops, acts]);
  return {
    tried,
    problem,
    begin: (given, stop) => {
      setActs([]);
      setStops(stop);
      setInputs(given);
    },
    act: (next) => setActs([...acts, next]),
    back: acts.length === 0 ? null : () => setActs(acts.slice(0, -1)),
    end: () => {
      setInputs(null);
      setActs([]);
      setTried(null);
    },
  };
}
