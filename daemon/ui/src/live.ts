/** What happens in all runs of the company, as it happens: one stream for the whole page, picked up where it broke off. */

import { useEffect, useRef, useSyncExternalStore } from "react";
import { OWN, sessionLost } from "./api";
import { parse } from "./json";
import type { Placed } from "./types";

export type Link = "connecting" | "live" | "broken";
type Listener = (events: Placed[]) => void;

const QUIET_MS = 40_000;
const TRIES_MS = [500, 1_000, 2_000, 4_000];
const listeners = new Set<Listener>();
const watchers = new Set<() => void>();
let link: Link = "connecting";
let seen: string | null = null;
let wanted = false;
let failures = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let current: AbortController | null = null;

export function startLive(): void {
  wanted = true;
  document.addEventListener("visibilitychange", look);
  window.addEventListener("online", again);
  window.addEventListener("offline", cut);
  look();
}

export function stopLive(): void {
  wanted = false;
  seen = null;
  document.removeEventListener("visibilitychange", look);
  window.removeEventListener("online", again);
  window.removeEventListener("offline", cut);
  close();
}

/** Whether the page hears of what happens. */
export function useLink(): Link {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => link,
  );
}

/** Be told of events; and of none when something else has changed, or may have been missed while the stream was broken. */
export function useLive(listener: Listener): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    const told: Listener = (events) => latest.current(events);
    listeners.add(told);
    return () => {
      listeners.delete(told);
    };
  }, []);
}

/** A tab that nobody looks at holds no connection: browsers allow few of them, and it catches up when it is seen. */
function look(): void {
  if (document.visibilityState === "hidden") close();
  else again();
}

function again(): void {
  failures = 0;
  if (wanted && current === null) void run();
}

function cut(): void {
  close();
  turn("broken");
}

function close(): void {
  clearTimeout(timer);
  current?.abort();
  current = null;
}

function turn(next: Link): void {
  if (link === next) return;
  link = next;
  for (const watcher of watchers) watcher();
}

async function run(): Promise<void> {
  clearTimeout(timer);
  const own = new AbortController();
  current = own;
  try {
    await follow(own);
  } catch {
    // a stream that breaks is taken up again below
  }
  if (current !== own) return;
  current = null;
  turn("broken");
  timer = setTimeout(() => {
    if (wanted && current === null && document.visibilityState === "visible") void run();
  }, TRIES_MS[Math.min(failures++, TRIES_MS.length - 1)]);
}

async function follow(own: AbortController): Promise<void> {
  const headers: Record<string, string> = { ...OWN, Accept: "text/event-stream" };
  if (seen !== null) headers["Last-Event-ID"] = seen;
  const response = await fetch("/events", { headers, cache: "no-store", signal: own.signal });
  if (response.status === 401) sessionLost();
  if (!response.ok || response.body === null) throw new Error(String(response.status));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const resumed = seen !== null || link === "broken";
  turn("live");
  failures = 0;
  if (resumed) tell([]);
  for (let rest = ""; ; ) {
    const part = await soon(reader.read(), own);
    if (part.done) return;
    const frames = (rest + part.value).split("\n\n");
    rest = frames.pop() ?? "";
    const events = frames.flatMap(read);
    if (events.length > 0) tell(events);
  }
}

/** The service says something every 15 s: silence means that the connection is dead. */
function soon<T>(reading: Promise<T>, own: AbortController): Promise<T> {
  const limit = setTimeout(() => own.abort(), QUIET_MS);
  return reading.finally(() => clearTimeout(limit));
}

/** The events of a frame that has a place in the history; one without says that something else has changed, such as a connector. */
function read(frame: string): Placed[] {
  let data = "";
  let id = "";
  for (const line of frame.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (id !== "") seen = id;
  else if (data !== "") tell([]);
  return id === "" || data === "" ? [] : [parse(data) as Placed];
}

function tell(events: Placed[]): void {
  for (const listener of listeners) listener(events);
}
