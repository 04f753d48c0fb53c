/** The company's event stream (SSE): one connection for the page, resumed after a break. */

import { useEffect, useRef, useSyncExternalStore } from "react";
import { reportSessionLost } from "./client";
import { parse } from "./json";
import { PAGE_HEADERS } from "./early";
import { fetchRenewed } from "./renewal";
import { loseHistory } from "../state/lostHistory";
import type { CompanyEvent } from "./types";

export type ConnectionState = "connecting" | "live" | "broken";
type Listener = (events: CompanyEvent[]) => void;

const SILENCE_MS = 40_000;
const LASTING_MS = 1_000;
const RETRY_MS = [500, 1_000, 2_000, 4_000];
const listeners = new Set<Listener>();
const peopleListeners = new Set<() => void>();
const watchers = new Set<() => void>();
let connection: ConnectionState = "connecting";
let lastEventId: string | null = null;
let enabled = false;
let failures = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let current: AbortController | null = null;

export function startEventStream(): void {
  enabled = true;
  document.addEventListener("visibilitychange", followVisibility);
  window.addEventListener("online", reconnect);
  window.addEventListener("offline", disconnect);
  followVisibility();
}

export function stopEventStream(): void {
  enabled = false;
  lastEventId = null;
  document.removeEventListener("visibilitychange", followVisibility);
  window.removeEventListener("online", reconnect);
  window.removeEventListener("offline", disconnect);
  close();
}

export function useConnectionState(): ConnectionState {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => connection,
  );
}

/**
 * Subscribe to events. An empty list means: reload, because something else changed or events may
 * have been missed.
 */
export function useEvents(listener: Listener): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    const forward: Listener = (events) => latest.current(events);
    listeners.add(forward);
    return () => {
      listeners.delete(forward);
    };
  }, []);
}

/** Subscribe to changes of members and their rights, also those that may have been missed. */
export function usePeopleChanges(listener: () => void): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    const forward = () => latest.current();
    peopleListeners.add(forward);
    return () => {
      peopleListeners.delete(forward);
    };
  }, []);
}

let keptWhenHidden = false;

/** Whether a hidden tab keeps its connection, to notify its reader. */
export function keepStreamWhenHidden(keep: boolean): void {
  keptWhenHidden = keep;
}

function isWatched(): boolean {
  return keptWhenHidden || document.visibilityState === "visible";
}

/** A hidden tab closes its connection, because browsers allow few. It resumes when visible. */
function followVisibility(): void {
  if (isWatched()) reconnect();
  else close();
}

function reconnect(): void {
  failures = 0;
  if (enabled && current === null) void connect();
}

function disconnect(): void {
  close();
  setConnection("broken");
}

function close(): void {
  clearTimeout(timer);
  current?.abort();
  current = null;
}

function setConnection(next: ConnectionState): void {
  if (connection === next) return;
  connection = next;
  for (const watcher of watchers) watcher();
}

async function connect(): Promise<void> {
  clearTimeout(timer);
  const controller = new AbortController();
  current = controller;
  const began = Date.now();
  let ended = false;
  try {
    await readStream(controller);
    ended = Date.now() - began > LASTING_MS;
  } catch {
    // reconnected below
  }
  if (current !== controller) return;
  current = null;
  // The service ends a stream when its token expires: it goes on with the next one.
  if (ended && enabled && isWatched()) return connect();
  setConnection("broken");
  timer = setTimeout(
    () => {
      if (enabled && current === null && isWatched()) void connect();
    },
    RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)],
  );
}

/** The stream behind the last event; anew where the database has lost that event. */
async function openStream(own: AbortController): Promise<Response> {
  const headers: Record<string, string> = { ...PAGE_HEADERS, Accept: "text/event-stream" };
  if (lastEventId !== null) headers["Last-Event-ID"] = lastEventId;
  const response = await fetchRenewed("/events", {
    headers,
    cache: "no-store",
    signal: own.signal,
  });
  if (response.status !== 410 || lastEventId === null) return response;
  lastEventId = null;
  loseHistory(((await response.json()) as { first?: unknown }).first);
  return openStream(own);
}

async function readStream(own: AbortController): Promise<void> {
  const response = await openStream(own);
  if (response.status === 401) await reportSessionLost(response);
  if (!response.ok || response.body === null) throw new Error(String(response.status));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  setConnection("live");
  failures = 0;
  // What was loaded before may lack what happened until now.
  notify([]);
  notifyPeople();
  for (let rest = ""; ;) {
    const part = await withTimeout(reader.read(), own);
    if (part.done) return;
    const frames = (rest + part.value).split("\n\n");
    rest = frames.pop() ?? "";
    const events = frames.flatMap(parseFrame);
    if (events.length > 0) notify(events);
  }
}

/** The service sends at least a comment every 15 s: silence means that the connection is dead. */
function withTimeout<T>(reading: Promise<T>, own: AbortController): Promise<T> {
  const limit = setTimeout(() => own.abort(), SILENCE_MS);
  return reading.finally(() => clearTimeout(limit));
}

/**
 * The events of an SSE frame. A frame without an id reports another change, such as a connector's.
 */
function parseFrame(frame: string): CompanyEvent[] {
  let data = "";
  let id = "";
  for (const line of frame.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (id !== "") lastEventId = id;
  else if (data !== "") notifyOfChange(data);
  return id === "" || data === "" ? [] : [parse(data) as CompanyEvent];
}

function notifyOfChange(data: string): void {
  if ((parse(data) as { type?: unknown }).type === "people_changed") notifyPeople();
  else notify([]);
}

function notifyPeople(): void {
  for (const listener of peopleListeners) listener();
}

function notify(events: CompanyEvent[]): void {
  for (const listener of listeners) listener(events);
}
