/** A draft while it is edited: undo and redo, saved and checked shortly after each change. */

import { useCallback, useEffect, useRef, useState } from "react";
import { get, post, type Problem, send, toProblem } from "../../../api/client";
import type { TemplateCheck, TemplateVersion, TemplateVersionDetail } from "../../../api/types";
import { type Draft, newDraft } from "./document";

export type SaveState = "saved" | "saving" | "unsaved" | "conflict" | "failed";

const SAVE_MS = 700;
const CHECK_MS = 250;
const HISTORY_MAX = 200;

export interface Editing {
  draft: Draft | null;
  check: TemplateCheck | null;
  /** What keeps the document from being read at all. */
  malformed: Problem | null;
  problem: Problem | null;
  save: SaveState;
  /** Whether anything was ever stored. */
  stored: boolean;
  /** The newest version, if there is one. */
  published: Draft | null;
  change: (draft: Draft) => void;
  undo: (() => void) | null;
  redo: (() => void) | null;
  keepMine: () => void;
  loadTheirs: () => void;
}

export function pathOf(vertical: string, ...rest: string[]): string {
  return ["/process-templates", encodeURIComponent(vertical), ...rest].join("/");
}

/** The draft, or what it begins with: the newest version, or a process of one gate. */
async function begin(vertical: string, title: string): Promise<Beginning> {
  const [stored, published] = await Promise.all([
    found(send<Draft>("GET", pathOf(vertical, "draft"))),
    found(newestOf(vertical)),
  ]);
  if (stored !== null) return { draft: stored.value, etag: stored.etag, published };
  return { draft: published ?? newDraft(vertical, title), etag: null, published };
}

interface Beginning {
  draft: Draft;
  etag: string | null;
  published: Draft | null;
}

async function newestOf(vertical: string): Promise<Draft | null> {
  const versions = await get<TemplateVersion[]>(pathOf(vertical, "versions"));
  const newest = versions.find((one) => one.retired_at === null) ?? versions[0];
  if (newest === undefined) return null;
  const whole = await get<TemplateVersionDetail>(
    pathOf(vertical, "versions", String(newest.version)),
  );
  const { version: _version, ...draft } = whole.document as unknown as Draft;
  return draft as Draft;
}

/** What was asked for; null where there is none. */
async function found<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (toProblem(error).status === 404) return null;
    throw error;
  }
}

export function useDraft(vertical: string, title: string): Editing {
  const [past, setPast] = useState<Draft[]>([]);
  const [draft, setDraft] = useState<Draft | null>(null);
  const [future, setFuture] = useState<Draft[]>([]);
  const [check, setCheck] = useState<TemplateCheck | null>(null);
  const [malformed, setMalformed] = useState<Problem | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [save, setSave] = useState<SaveState>("saved");
  const [turn, setTurn] = useState(0);
  const etag = useRef<string | null>(null);
  const clean = useRef<Draft | null>(null);
  const [stored, setStored] = useState(false);
  const [published, setPublished] = useState<Draft | null>(null);

  useEffect(() => {
    let dropped = false;
    begin(vertical, title).then(
      (found) => {
        if (dropped) return;
        etag.current = found.etag;
        clean.current = found.draft;
        setStored(found.etag !== null);
        setPublished(found.published);
        setDraft(found.draft);
        setPast([]);
        setFuture([]);
        setSave("saved");
        setProblem(null);
      },
      (error: unknown) => !dropped && setProblem(toProblem(error)),
    );
    return () => {
      dropped = true;
    };
  }, [vertical, title, turn]);

  useEffect(() => {
    if (draft === null) return undefined;
    let dropped = false;
    const timer = setTimeout(() => {
      post<TemplateCheck>("/process-templates/validate", draft).then(
        (found) => {
          if (dropped) return;
          setCheck(found);
          setMalformed(null);
        },
        (error: unknown) => !dropped && setMalformed(toProblem(error)),
      );
    }, CHECK_MS);
    return () => {
      dropped = true;
      clearTimeout(timer);
    };
  }, [draft]);

  const store = useCallback(
    async (sent: Draft, seen: string | null) => {
      setSave("saving");
      try {
        const options = seen === null ? { body: sent } : { body: sent, seen };
        const answer = await send<Draft>("PUT", pathOf(vertical, "draft"), options);
        etag.current = answer.etag;
        clean.current = sent;
        setStored(true);
        setSave("saved");
      } catch (error) {
        setSave(toProblem(error).status === 412 ? "conflict" : "failed");
      }
    },
    [vertical],
  );

  useEffect(() => {
    if (draft === null || save !== "unsaved") return undefined;
    if (draft === clean.current) {
      setSave("saved");
      return undefined;
    }
    const timer = setTimeout(() => void store(draft, etag.current), SAVE_MS);
    return () => clearTimeout(timer);
  }, [draft, save, store]);

  const latest = useRef(draft);
  latest.current = draft;
  useEffect(() => {
    // What was changed while another state was being stored is stored next.
    if (save === "saved" && latest.current !== null && latest.current !== clean.current)
      setSave("unsaved");
  }, [save]);

  const set = (made: Draft) => {
    setDraft(made);
    if (save !== "conflict" && save !== "saving") setSave("unsaved");
  };
  const change = (made: Draft) => {
    if (draft === null) return;
    setPast([...past.slice(-HISTORY_MAX), draft]);
    setFuture([]);
    set(made);
  };
  const before = past.at(-1);
  const after = future[0];
  return {
    draft,
    check,
    malformed,
    problem,
    save,
    stored,
    published,
    change,
    undo:
      draft === null || before === undefined
        ? null
        : () => {
            setPast(past.slice(0, -1));
            setFuture([draft, ...future]);
            set(before);
          },
    redo:
      draft === null || after === undefined
        ? null
        : () => {
            setPast([...past, draft]);
            setFuture(future.slice(1));
            set(after);
          },
    keepMine: () => draft !== null && void store(draft, null),
    loadTheirs: () => setTurn((number) => number + 1),
  };
}
