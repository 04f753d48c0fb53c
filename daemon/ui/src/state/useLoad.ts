/** Hooks that load data. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { get, Problem, toProblem } from "../api/client";
import { useEvents, usePeopleChanges } from "../api/eventStream";
import { getTemplates } from "../api/resources";
import type { RetainedRun } from "../api/types";

export interface Loaded<T> {
  value: T | null;
  problem: Problem | null;
  /** Whether a response arrived, even an empty one. */
  done: boolean;
  reload: () => void;
  set: (value: T) => void;
}

const RETRY_MS = 5_000;

/** Load a value, again when `what` changes, and periodically while the service is unavailable. */
export function useLoad<T>(what: string, load: () => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{
    what: string;
    value: T | null;
    problem: Problem | null;
    done: boolean;
  }>({ what, value: null, problem: null, done: false });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    let dropped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    latest.current().then(
      (value) => !dropped && setState({ what, value, problem: null, done: true }),
      (error: unknown) => {
        if (dropped) return;
        const problem = toProblem(error);
        setState((before) => ({
          what,
          value: before.what === what ? before.value : null,
          problem,
          done: before.what === what && before.done,
        }));
        if (problem.code === "offline" || problem.status === 503)
          timer = setTimeout(() => setTurn((n) => n + 1), RETRY_MS);
      },
    );
    return () => {
      dropped = true;
      clearTimeout(timer);
    };
  }, [what, turn]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const set = useCallback(
    (value: T) => setState({ what, value, problem: null, done: true }),
    [what],
  );
  return state.what === what
    ? { ...state, reload, set }
    : { value: null, problem: null, done: false, reload, set };
}

/** A run, reloaded on each of its events; none once it is closed to the reader. */
export function useRun(id: string): Loaded<RetainedRun> {
  const loaded = useLoad(`run ${id}`, () =>
    get<RetainedRun>(`/process-runs/${encodeURIComponent(id)}`),
  );
  const { reload } = loaded;
  useEvents((events) => {
    if (events.length === 0 || events.some((event) => event.run_id === id)) reload();
  });
  usePeopleChanges(reload);
  return loaded.problem?.status === 404 ? { ...loaded, value: null } : loaded;
}

export function useTemplateTitles(): Map<string, string> {
  const { value } = useLoad("templates", getTemplates);
  return useMemo(
    () => new Map((value ?? []).map((template) => [template.vertical, template.title])),
    [value],
  );
}
