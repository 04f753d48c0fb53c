/** Saves a draft shortly after each change, and brings in what others have saved meanwhile. */

import { useEffect, useRef, useState } from "react";
import { getAll, type Problem, send, toProblem } from "../../../../api/client";
import type { DraftEntry } from "../../../../api/types";
import { same } from "./comparison";
import type { Draft } from "./document";
import { type Clash, merged, type Side } from "./merge";
import type { History } from "./useHistory";

export type SaveState = "saved" | "saving" | "unsaved" | "conflict" | "failed";

export interface Conflict {
  clashes: Clash[];
  by: string;
}

export interface Stored {
  draft: Draft;
  etag: string | null;
}

export interface Saving {
  save: SaveState;
  /** Why the draft is not saved. */
  refused: Problem | null;
  conflict: Conflict | null;
  /** Who else has changed the draft; what they changed is in it. */
  others: string | null;
  /** The entity tag of what is stored; null where nothing is. */
  etag: string | null;
  resolve: (side: Side) => void;
}

const SAVE_MS = 700;
const RETRY_MS = 3_000;
const POLL_MS = 4_000;
const BUSY_MS = 100;
const PASSING = new Set([0, 429, 500, 502, 503, 504]);
const NONE = "*";
let lastSave: Promise<unknown> = Promise.resolve();

/** Waits for what is being saved, also by an editor that was left. */
export async function savesSettled(): Promise<void> {
  await lastSave;
}

/** `gone` is called when the draft that was read is there no more, and nothing would be lost. */
export function useSaving(
  path: string,
  begun: Stored | null,
  history: History,
  gone: () => void,
): Saving {
  const [save, setSave] = useState<SaveState>("saved");
  const [refused, setRefused] = useState<Problem | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [others, setOthers] = useState<string | null>(null);
  const [etag, setEtag] = useState<string | null>(null);
  const known = useRef<Stored | null>(null);
  const busy = useRef(false);
  const { draft, latest, rebase } = history;

  useEffect(() => {
    known.current = begun;
    setEtag(begun?.etag ?? null);
    setSave("saved");
    setRefused(null);
    setConflict(null);
  }, [begun]);

  const isClean = () => known.current === null || latest.current === known.current.draft;
  const stored = (made: Stored) => {
    known.current = made;
    setEtag(made.etag);
  };

  /** Bring in what others have saved; false where both have changed the same. */
  const bringIn = async (theirs: Stored, side: Side | null): Promise<boolean> => {
    const [base, mine] = [known.current, latest.current];
    if (base === null || mine === null) return false;
    const made = merged(base.draft, mine, theirs.draft, side ?? "mine");
    if (made.clashes.length > 0 && side === null) {
      setConflict({ clashes: made.clashes, by: await saverOf(theirs.draft.vertical) });
      setSave("conflict");
      return false;
    }
    const whole = same(made.draft, theirs.draft) ? theirs.draft : made.draft;
    stored({ draft: theirs.draft, etag: theirs.etag });
    rebase(whole, (one) => merged(base.draft, one, theirs.draft, "mine").draft, side !== null);
    setConflict(null);
    setSave(isClean() ? "saved" : "unsaved");
    if (side === null) setOthers(await saverOf(theirs.draft.vertical));
    return true;
  };

  /** Save until nothing is left to be saved. */
  const push = (side: Side | null = null, keepalive = false) => {
    if (!busy.current) lastSave = store(side, keepalive);
  };

  const store = async (side: Side | null, keepalive: boolean) => {
    busy.current = true;
    try {
      while (!isClean() && latest.current !== null) {
        setSave("saving");
        const sent = latest.current;
        const answer = await put(path, sent, known.current?.etag ?? NONE, keepalive);
        if (answer !== null) stored({ draft: sent, etag: answer });
        else if (!(await meet(side))) return;
      }
      setRefused(null);
      setSave("saved");
    } catch (error) {
      setRefused(toProblem(error));
      setSave("failed");
    } finally {
      busy.current = false;
    }
  };

  /** Another draft is stored than the one that was seen. */
  const meet = async (side: Side | null): Promise<boolean> => {
    const theirs = await read(path, null);
    if (theirs !== "gone" && theirs !== "same") return bringIn(theirs, side);
    if (known.current !== null) stored({ ...known.current, etag: null });
    return true;
  };

  const poll = async () => {
    const seen = known.current?.etag ?? null;
    if (busy.current || seen === null || document.hidden) return;
    busy.current = true;
    try {
      const theirs = await read(path, seen);
      if (theirs === "gone" && isClean()) gone();
      else if (theirs !== "gone" && theirs !== "same") await bringIn(theirs, null);
    } catch {
      // The next turn asks again.
    } finally {
      busy.current = false;
      if (now.current.save !== "conflict" && !isClean()) push();
    }
  };

  const now = useRef({ push, poll, isClean, save });
  now.current = { push, poll, isClean, save };
  useEffect(() => {
    if (draft === null || known.current === null) return undefined;
    if (isClean()) {
      if (!busy.current) setSave("saved");
      return undefined;
    }
    if (save === "conflict") return undefined;
    if (save === "saved") setSave("unsaved");
    const timer = setTimeout(() => push(), SAVE_MS);
    return () => clearTimeout(timer);
  }, [draft]);

  useEffect(() => {
    if (save !== "failed" || refused === null || !PASSING.has(refused.status)) return undefined;
    const timer = setTimeout(() => push(), RETRY_MS);
    return () => clearTimeout(timer);
  }, [save, refused]);

  useEffect(() => {
    const timer = setInterval(() => void now.current.poll(), POLL_MS);
    const leave = () => {
      if (now.current.save !== "conflict") now.current.push(null, true);
    };
    const ask = (event: BeforeUnloadEvent) => {
      const left = now.current.save === "conflict" || now.current.save === "failed";
      if (left && !now.current.isClean()) event.preventDefault();
    };
    addEventListener("pagehide", leave);
    addEventListener("beforeunload", ask);
    return () => {
      clearInterval(timer);
      removeEventListener("pagehide", leave);
      removeEventListener("beforeunload", ask);
      leave();
    };
  }, []);

  const resolve = (side: Side) => {
    if (busy.current) setTimeout(() => resolve(side), BUSY_MS);
    else push(side);
  };
  return { save, refused, conflict, others, etag, resolve };
}

/** The new entity tag; null where another draft is stored than the one that was seen. */
async function put(
  path: string,
  body: Draft,
  seen: string,
  keepalive: boolean,
): Promise<string | null> {
  const condition = seen === NONE ? { known: NONE } : { seen };
  try {
    return (await send<Draft>("PUT", path, { body, ...condition, keepalive })).etag;
  } catch (error) {
    if (toProblem(error).status === 412) return null;
    throw error;
  }
}

async function read(path: string, known: string | null): Promise<Stored | "gone" | "same"> {
  try {
    const found = await send<Draft>("GET", path, known === null ? {} : { known });
    return { draft: found.value, etag: found.etag };
  } catch (error) {
    const { status } = toProblem(error);
    if (status === 304) return "same";
    if (status === 404) return "gone";
    throw error;
  }
}

async function saverOf(vertical: string): Promise<string> {
  const found = await getAll<DraftEntry>("/template-drafts/?limit=200", 1_000);
  return found.find((one) => one.vertical === vertical)?.saved_by ?? "somebody";
}
