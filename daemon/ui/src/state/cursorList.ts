/** A list that the service filters and orders, loaded page by page behind its cursors. */

import { useCallback, useEffect, useRef, useState } from "react";
import { takeEarly } from "../api/early";
import { peek, type Problem, send, toProblem } from "../api/client";

const FIRST_PAGE = 50;
const NEXT_PAGE = 200;
const RETRY_MS = 5_000;

export interface CursorList<T> {
  rows: T[];
  /** Whether the rows are those of the address; until the first response they are of the last. */
  current: boolean;
  /** Whether there are any rows of any address yet. */
  loaded: boolean;
  /** Whether further pages follow. */
  more: boolean;
  problem: Problem | null;
  loadMore: () => void;
  reload: () => void;
  /** Change the rows that are shown. */
  change: (next: (rows: T[]) => T[]) => void;
}

interface State<T> {
  path: string;
  rows: T[];
  next: string | null;
  loaded: boolean;
  problem: Problem | null;
}

/** `path` has no `limit`; what it asks for is loaded again whenever it changes. */
export function useCursorList<T>(path: string): CursorList<T> {
  const [state, setState] = useState<State<T>>(() => initial(path));
  const [turn, setTurn] = useState(0);
  const busy = useRef(false);
  const latest = useRef(state);
  latest.current = state;
  const isEarly = useRef(state.loaded);
  useEffect(() => {
    if (isEarly.current) {
      isEarly.current = false;
      void takeEarly(withLimit(path, FIRST_PAGE)); // it is shown: the next one asks the service
      return;
    }
    const own = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    busy.current = true;
    send<T[]>("GET", withLimit(path, FIRST_PAGE), { signal: own.signal }).then(
      (page) => {
        busy.current = false;
        setState({ path, rows: page.value, next: page.next, loaded: true, problem: null });
      },
      (error: unknown) => {
        if (own.signal.aborted) return;
        busy.current = false;
        const problem = toProblem(error);
        setState((before) => ({ ...before, problem }));
        if (problem.code === "offline" || problem.status === 503)
          timer = setTimeout(() => setTurn((n) => n + 1), RETRY_MS);
      },
    );
    return () => {
      own.abort();
      clearTimeout(timer);
    };
  }, [path, turn]);
  const loadMore = useCallback(() => {
    const { next, path: of } = latest.current;
    if (next === null || busy.current) return;
    busy.current = true;
    send<T[]>("GET", withLimit(next, NEXT_PAGE))
      .then(
        (page) =>
          setState((before) =>
            before.next === next && before.path === of
              ? { ...before, rows: [...before.rows, ...page.value], next: page.next }
              : before,
          ),
        (error: unknown) => setState((before) => ({ ...before, problem: toProblem(error) })),
      )
      .finally(() => {
        busy.current = false;
      });
  }, []);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const change = useCallback(
    (next: (rows: T[]) => T[]) => setState((before) => ({ ...before, rows: next(before.rows) })),
    [],
  );
  return {
    rows: state.rows,
    current: state.path === path,
    loaded: state.loaded,
    more: state.next !== null,
    problem: state.problem,
    loadMore,
    reload,
    change,
  };
}

/** The rows that came before the page's scripts did, or none yet. */
function initial<T>(path: string): State<T> {
  const early = peek<T[]>(withLimit(path, FIRST_PAGE));
  return early === null
    ? { path: "", rows: [], next: null, loaded: false, problem: null }
    : { path, rows: early.value, next: early.next, loaded: true, problem: null };
}

function withLimit(path: string, limit: number): string {
  const [address = "", query = ""] = path.split("?", 2);
  const parameters = new URLSearchParams(query);
  parameters.set("limit", String(limit));
  return `${address}?${parameters}`;
}
