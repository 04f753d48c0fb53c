/** The company's history backwards: the service tells it forwards from any place, so it is asked for in pieces from the end. */

import { get, OWN } from "./api";
import type { Placed } from "./types";

export interface Part {
  events: Placed[];
  /** The position from which on everything is here; 0 when all is. */
  from: number;
}

const WANTED = 60;
const FIRST = 200;
const MOST = 5_000;
const WIDER = 4;

function position(id: string): number {
  return Number(id.split("-", 1)[0]);
}

/** The position behind everything there is: a stream says it in its first line. */
export async function present(): Promise<number> {
  const own = new AbortController();
  try {
    const response = await fetch("/events", { headers: { ...OWN, Accept: "text/event-stream" }, cache: "no-store", signal: own.signal });
    if (!response.ok || response.body === null) throw new Error(`The service answered ${response.status}.`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ; ) {
      const part = await reader.read();
      text += part.value ?? "";
      const found = /^id: (\d+)-\d+\n/m.exec(text);
      if (found?.[1] !== undefined) return Number(found[1]);
      if (part.done) throw new Error("The service said nothing.");
    }
  } finally {
    own.abort();
  }
}

/** The same part with some more of what was before it. */
export async function earlier(part: Part): Promise<Part> {
  let { events, from } = part;
  for (let wide = FIRST, found = 0; from > 0 && found < WANTED; wide *= WIDER) {
    let begin = Math.max(0, from - wide);
    let before = await between(begin, from, MOST);
    if (before === null) {
      wide = FIRST;
      begin = Math.max(0, from - wide);
      before = (await between(begin, from, Number.POSITIVE_INFINITY)) ?? [];
    }
    found += before.length;
    events = [...before, ...events];
    from = begin;
  }
  return { events, from };
}

/** All events from a position up to another; null when there are more than so many. */
async function between(begin: number, end: number, most: number): Promise<Placed[] | null> {
  const found: Placed[] = [];
  for (let after: string = begin === 0 ? "0" : `${begin}-0`; ; ) {
    if (found.length > most) return null;
    const page = await get<Placed[]>(`/events?limit=200&after=${after}`);
    const inside = page.filter((one) => position(one.id) < end);
    found.push(...inside);
    const last = page.at(-1);
    if (last === undefined || page.length < 200 || inside.length < page.length) break;
    after = last.id;
  }
  return found;
}
