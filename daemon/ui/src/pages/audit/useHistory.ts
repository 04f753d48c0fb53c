/** The history of a company: events of its runs and its log, filtered by the service, merged. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Problem, send, toProblem } from "../../api/client";
import { useEvents, usePeopleChanges } from "../../api/eventStream";
import type { CompanyEvent } from "../../api/types";
import { endOfDay, startOfDay } from "../../components/list/DateFilter";
import { isPersonEvent } from "../../components/record/EventEntry";
import type { Query } from "../../state/query";
import type { LogEntry } from "./companyLog";
import { KINDS } from "./kinds";
import { type AuditEntry, mergeEntries } from "./entries";

const PAGE = 60;
const POLL_MS = 15_000;
const RELOAD_MS = 400;

/** One of the two lists that make the history, as far as it is loaded; newest first. */
export interface Part<T> {
  entries: T[];
  /** The address of the next page; null when all is loaded. */
  next: string | null;
}

interface Loaded {
  asked: string;
  runs: Part<CompanyEvent>;
  log: Part<LogEntry>;
}

export interface History {
  entries: AuditEntry[];
  /** Whether everything that matches is shown. */
  whole: boolean;
  loaded: boolean;
  busy: boolean;
  problem: Problem | null;
  loadMore: () => void;
  reload: () => void;
}

const NOTHING = { entries: [], next: null };

export function useHistory(query: Query): History {
  const { runs, log, people } = usePaths(query);
  const asked = `${runs} ${log}`;
  const [state, setState] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const latest = useRef(asked);
  latest.current = asked;
  const load = useCallback(
    async (before: Loaded | null) => {
      setBusy(true);
      try {
        const next = before === null ? await first(asked, runs, log) : await further(before);
        if (latest.current === asked) {
          setState(next);
          setProblem(null);
        }
      } catch (error) {
        if (latest.current === asked) setProblem(toProblem(error));
      }
      if (latest.current === asked) setBusy(false);
    },
    [asked, runs, log],
  );
  useEffect(() => void load(null), [load]);
  const refresh = useRefresh(state, setState, runs, log);
  const loaded = useRef(state);
  loaded.current = state;
  // What has been closed to the reader is there no more.
  usePeopleChanges(() => {
    const before = loaded.current;
    if (before === null || before.asked !== asked) return;
    asMuch(before, runs, log).then(
      (next) => latest.current === asked && setState(next),
      () => undefined,
    );
  });
  useEvents((events) => {
    if (events.length === 0 || runs !== null) refresh(RELOAD_MS);
  });
  useEffect(() => {
    const timer = setInterval(() => refresh(0), POLL_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  const entries = useMemo(() => {
    if (state === null) return [];
    const found = mergeEntries(state);
    return people ? found.filter(isByPerson) : found;
  }, [state, people]);
  return {
    entries,
    whole: state !== null && state.runs.next === null && state.log.next === null,
    loaded: state !== null,
    busy,
    problem,
    loadMore: () => state !== null && void load(state),
    reload: () => void load(null),
  };
}

function isByPerson(entry: AuditEntry): boolean {
  if (entry.run === null) return (entry.log.event.by ?? "") !== "";
  const { event } = entry.run;
  return Boolean(event.by) && event.by !== "autopilot" && isPersonEvent(event);
}

/** The addresses of both lists; null for one that the kind has nothing of. */
function usePaths(query: Query): { runs: string | null; log: string | null; people: boolean } {
  const [show, by, q, since, until] = ["show", "by", "q", "since", "until"].map(query.get) as [
    string,
    string,
    string,
    string,
    string,
  ];
  return useMemo(() => {
    const kind = KINDS[show] ?? KINDS["people"];
    const shared = new URLSearchParams({ limit: String(PAGE) });
    const [first, last] = [startOfDay(since), endOfDay(until)];
    if (by !== "") shared.set("by", by);
    if (q.trim() !== "") shared.set("q", q.trim());
    if (first !== null) shared.set("since", first);
    shared.set("until", last ?? FAR);
    const path = (address: string, types: string[] | null | undefined): string | null => {
      if (types === null || types === undefined) return null;
      const own = new URLSearchParams(shared);
      if (types.length > 0) own.set("type", types.join(","));
      return `${address}?${own}`;
    };
    return {
      runs: path("/events/", kind?.runs),
      log: path("/audit/log", kind?.log),
      people: kind === KINDS["people"],
    };
  }, [show, by, q, since, until]);
}

/** With any filter the service lists the newest first. */
const FAR = "9999-01-01T00:00:00Z";

async function more<T>(part: Part<T>): Promise<Part<T>> {
  if (part.next === null) return part;
  const page = await send<T[]>("GET", part.next);
  return { entries: [...part.entries, ...page.value], next: page.next };
}

async function first(asked: string, runs: string | null, log: string | null): Promise<Loaded> {
  const [events, entries] = await Promise.all([
    more<CompanyEvent>({ ...NOTHING, next: runs }),
    more<LogEntry>({ ...NOTHING, next: log }),
  ]);
  return { asked, runs: events, log: entries };
}

/** Load anew what is loaded. */
async function asMuch(before: Loaded, runs: string | null, log: string | null): Promise<Loaded> {
  let next = await first(before.asked, runs, log);
  while (countOf(next) < countOf(before) && (next.runs.next ?? next.log.next) !== null)
    next = await further(next);
  return next;
}

function countOf({ runs, log }: Loaded): number {
  return runs.entries.length + log.entries.length;
}

/** Load on where less is loaded, so that the merged list goes on. */
async function further(before: Loaded): Promise<Loaded> {
  const reached = reachedBy(before);
  return {
    ...before,
    runs: reached.runs >= reached.log ? await more(before.runs) : before.runs,
    log: reached.log >= reached.runs ? await more(before.log) : before.log,
  };
}

/** Since when each list is loaded; -Infinity if all of it is. */
export function reachedBy({ runs, log }: { runs: Part<CompanyEvent>; log: Part<LogEntry> }): {
  runs: number;
  log: number;
} {
  const since = (next: string | null, at: string | undefined) =>
    next === null ? Number.NEGATIVE_INFINITY : at === undefined ? Infinity : Date.parse(at);
  return {
    runs: since(runs.next, runs.entries.at(-1)?.event.at),
    log: since(log.next, log.entries.at(-1)?.event.at),
  };
}

/** Load what is new at the head of both lists, after a pause and one at a time. */
function useRefresh(
  state: Loaded | null,
  setState: (change: (before: Loaded | null) => Loaded | null) => void,
  runs: string | null,
  log: string | null,
): (pause: number) => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const asked = state?.asked;
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(
    (pause: number) => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        Promise.all([
          runs === null ? null : send<CompanyEvent[]>("GET", runs),
          log === null ? null : send<LogEntry[]>("GET", log),
        ]).then(
          ([events, entries]) =>
            setState((before) =>
              before === null || before.asked !== asked
                ? before
                : {
                    ...before,
                    runs: events === null ? before.runs : newer(before.runs, events, idOfEvent),
                    log: entries === null ? before.log : newer(before.log, entries, idOfEntry),
                  },
            ),
          () => undefined,
        );
      }, pause);
    },
    [runs, log, asked, setState],
  );
}

function idOfEvent(one: CompanyEvent): string {
  return one.id;
}

function idOfEntry(one: LogEntry): string {
  return String(one.seq);
}

/** The list with the newer entries of its first page, or that page where there would be a gap. */
function newer<T>(
  part: Part<T>,
  page: { value: T[]; next: string | null },
  idOf: (one: T) => string,
): Part<T> {
  const known = new Set(part.entries.map(idOf));
  const added = page.value.filter((one) => !known.has(idOf(one)));
  if (added.length === 0) return part;
  const joins = added.length < page.value.length || page.next === null;
  return joins
    ? { entries: [...added, ...part.entries], next: part.next }
    : { entries: page.value, next: page.next };
}
