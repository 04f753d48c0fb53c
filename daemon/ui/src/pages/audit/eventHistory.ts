/**
 * The company's events in reverse. The API lists them forwards, so they are loaded in ranges from
 * the end.
 */

import { get, PAGE_HEADERS } from "../../api/client";
import type { CompanyEvent } from "../../api/types";

export interface LoadedEvents {
  events: CompanyEvent[];
  /** The first loaded position; 0 if all events are loaded. */
  from: number;
}

const EVENTS_WANTED = 60;
const FIRST_RANGE = 200;
const RANGE_EVENTS_MAX = 5_000;
const RANGE_FACTOR = 4;

function position(id: string): number {
  return Number(id.split("-", 1)[0]);
}

/** The latest position, which the event stream sends first. */
export async function latestPosition(): Promise<number> {
  const controller = new AbortController();
  try {
    const response = await fetch("/events", {
      headers: { ...PAGE_HEADERS, Accept: "text/event-stream" },
      cache: "no-store",
      signal: controller.signal,
    });
    if (!response.ok || response.body === null)
      throw new Error(`The service responded with status ${response.status}.`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const part = await reader.read();
      text += part.value ?? "";
      const found = /^id: (\d+)-\d+\n/m.exec(text);
      if (found?.[1] !== undefined) return Number(found[1]);
      if (part.done) throw new Error("The service said nothing.");
    }
  } finally {
    controller.abort();
  }
}

/** Load more events before those that are loaded. */
export async function loadEarlierEvents(part: LoadedEvents): Promise<LoadedEvents> {
  let { events, from } = part;
  for (let wide = FIRST_RANGE, found = 0; from > 0 && found < EVENTS_WANTED; wide *= RANGE_FACTOR) {
    let begin = Math.max(0, from - wide);
    let before = await eventsBetween(begin, from, RANGE_EVENTS_MAX);
    if (before === null) {
      wide = FIRST_RANGE;
      begin = Math.max(0, from - wide);
      before = (await eventsBetween(begin, from, Number.POSITIVE_INFINITY)) ?? [];
    }
    found += before.length;
    events = [...before, ...events];
    from = begin;
  }
  return { events, from };
}

/** All events in a range of positions; null if there are more than `most`. */
async function eventsBetween(
  begin: number,
  end: number,
  most: number,
): Promise<CompanyEvent[] | null> {
  const found: CompanyEvent[] = [];
  for (let after: string = begin === 0 ? "0" : `${begin}-0`; ;) {
    if (found.length > most) return null;
    const page = await get<CompanyEvent[]>(`/events?limit=200&after=${after}`);
    const inside = page.filter((event) => position(event.id) < end);
    found.push(...inside);
    const last = page.at(-1);
    if (last === undefined || page.length < 200 || inside.length < page.length) break;
    after = last.id;
  }
  return found;
}
