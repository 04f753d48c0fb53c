/** A run's own stream, for as long as somebody looks at one of its gates: it alone tells that a connector has changed a gate. */

import { useEffect, useRef } from "react";
import { OWN } from "./api";

const CHANGED = /^event: gate_changed$/m;
const QUIET_MS = 40_000;
const AGAIN_MS = 2_000;

/** Be told when a gate of the run stands otherwise, and whenever something may have been missed; `after` is the version that was read. */
export function useGateChanges(id: string, after: number | null, told: () => void): void {
  const latest = useRef({ after, told });
  latest.current = { after, told };
  const known = after !== null;
  useEffect(() => {
    if (!known) return;
    let current: AbortController | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = () => {
      clearTimeout(timer);
      current?.abort();
      current = null;
    };
    const begin = async (missed: boolean) => {
      const own = new AbortController();
      current = own;
      if (missed) latest.current.told();
      await follow(id, latest.current.after ?? 0, own, () => latest.current.told()).catch(() => undefined);
      if (current === own) timer = setTimeout(() => void begin(true), AGAIN_MS);
    };
    const look = () => {
      stop();
      if (document.visibilityState !== "hidden") void begin(true);
    };
    document.addEventListener("visibilitychange", look);
    window.addEventListener("online", look);
    if (document.visibilityState !== "hidden") void begin(false);
    return () => {
      document.removeEventListener("visibilitychange", look);
      window.removeEventListener("online", look);
      stop();
    };
  }, [id, known]);
}

async function follow(id: string, after: number, own: AbortController, told: () => void): Promise<void> {
  const headers = { ...OWN, Accept: "text/event-stream", "Last-Event-ID": String(after) };
  const response = await fetch(`/process-runs/${encodeURIComponent(id)}/events`, { headers, cache: "no-store", signal: own.signal });
  if (!response.ok || response.body === null) throw new Error(String(response.status));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const limit = setTimeout(() => own.abort(), QUIET_MS);
    const part = await reader.read().finally(() => clearTimeout(limit));
    if (part.done) return;
    const frames = (rest + part.value).split("\n\n");
    rest = frames.pop() ?? "";
    if (frames.some((frame) => CHANGED.test(frame))) told();
  }
}
