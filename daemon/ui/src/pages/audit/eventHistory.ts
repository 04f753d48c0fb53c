/** The company's events in reverse, loaded in pages from the end. */

import { get } from "../../api/client";
import { fetchRenewed, PAGE_HEADERS } from "../../api/renewal";
import type { CompanyEvent } from "../../api/types";

export interface LoadedEvents {
  events: CompanyEvent[];
  /** The id before which nothing is loaded; null if all events are loaded. */
  from: string | null;
}

const EVENTS_WANTED = 60;

/** The id of the latest position, which the event stream sends first. */
export async function latestPosition(): Promise<string> {
  const controller = new AbortController();
  try {
    const response = await fetchRenewed("/events", {
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
      const found = /^id: (\S+)\n/m.exec(text);
      if (found?.[1] !== undefined) return found[1];
      if (part.done) throw new Error("The service said nothing.");
    }
  } finally {
    controller.abort();
  }
}

/** Load more events before those that are loaded. */
export async function loadEarlierEvents(part: LoadedEvents): Promise<LoadedEvents> {
  let { events, from } = part;
  for (let found = 0; from !== null && found < EVENTS_WANTED;) {
    const page: CompanyEvent[] = await get<CompanyEvent[]>(
      `/events?limit=${EVENTS_WANTED}&before=${encodeURIComponent(from)}`,
    );
    found += page.length;
    from = page.at(-1)?.id ?? null;
    events = [...page.reverse(), ...events];
  }
  return { events, from };
}
