/** Loading things, and keeping them fresh. */

import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { all, get, Problem } from "./api";
import { useLive } from "./live";
import type { Canvas, Connector, Run, TemplateDetail, TemplateSummary } from "./types";

export interface Loaded<T> {
  value: T | null;
  problem: Problem | null;
  /** Whether there was an answer, be it an empty one. */
  done: boolean;
  reload: () => void;
  set: (value: T) => void;
}

const AGAIN_MS = 5_000;

/** Load something; once more when `what` changes, and again and again while the service cannot be reached. */
export function useLoad<T>(what: string, load: () => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ what: string; value: T | null; problem: Problem | null; done: boolean }>({ what, value: null, problem: null, done: false });
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
        const problem = asProblem(error);
        setState((before) => ({ what, value: before.what === what ? before.value : null, problem, done: before.what === what && before.done }));
        if (problem.code === "offline" || problem.status === 503) timer = setTimeout(() => setTurn((n) => n + 1), AGAIN_MS);
      },
    );
    return () => {
      dropped = true;
      clearTimeout(timer);
    };
  }, [what, turn]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const set = useCallback((value: T) => setState({ what, value, problem: null, done: true }), [what]);
  return state.what === what ? { ...state, reload, set } : { value: null, problem: null, done: false, reload, set };
}

export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, "unforeseen", error instanceof Error ? error.message : String(error));
}

/** A run, loaded anew whenever something happens in it. */
export function useRun(id: string): Loaded<Run> {
  const loaded = useLoad(`run ${id}`, () => get<Run>(`/process-runs/${encodeURIComponent(id)}`));
  const { reload } = loaded;
  useLive((events) => {
    if (events.length === 0 || events.some((one) => one.run_id === id)) reload();
  });
  return loaded;
}

/** Things that do not change while the page is open are asked for once. */
const kept = new Map<string, Promise<unknown>>();
function once<T>(path: string, load: () => Promise<T>): Promise<T> {
  const found = kept.get(path) as Promise<T> | undefined;
  if (found !== undefined) return found;
  const asked = load();
  kept.set(path, asked);
  asked.catch(() => kept.delete(path));
  return asked;
}

export function forget(): void {
  kept.clear();
}

export function templates(): Promise<TemplateSummary[]> {
  return once("templates", () => all<TemplateSummary>("/process-templates/?limit=200", 1_000));
}

export function template(vertical: string): Promise<TemplateDetail> {
  const path = `/process-templates/${encodeURIComponent(vertical)}`;
  return once(path, () => get<TemplateDetail>(path));
}

/** A graph: the current one, or that of the version that a run is pinned to. */
export function canvas(vertical: string, digest?: string): Promise<Canvas> {
  const path = `/process-templates/${encodeURIComponent(vertical)}/canvas${digest === undefined ? "" : `?digest=${encodeURIComponent(digest)}`}`;
  return once(path, () => get<Canvas>(path));
}

/** The graph of a run, as it was when the run began, whatever the template is by now; null when nobody has it any more. */
export async function canvasOf(run: Run): Promise<Canvas | null> {
  try {
    const current = await canvas(run.vertical).catch((error: unknown) => {
      if (asProblem(error).status !== 404) throw error;
    });
    return current?.digest === run.template.digest ? current : await canvas(run.vertical, run.template.digest);
  } catch (error) {
    if (asProblem(error).status === 404) return null;
    throw error;
  }
}

export function connectors(): Promise<Connector[]> {
  return all<Connector>("/connectors/?limit=200", 2_000);
}

const TICK_MS = 30_000;
let now = Date.now();
const tickers = new Set<() => void>();
setInterval(() => {
  now = Date.now();
  for (const tick of tickers) tick();
}, TICK_MS);

/** The time, for “5 minutes ago”. */
export function useNow(): number {
  return useSyncExternalStore(
    (changed) => {
      tickers.add(changed);
      return () => tickers.delete(changed);
    },
    () => now,
  );
}
