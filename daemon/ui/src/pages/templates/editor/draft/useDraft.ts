/** A draft while it is edited: loaded, checked shortly after each change, and saved. */

import { useEffect, useState } from "react";
import { get, post, type Problem, send, toProblem } from "../../../../api/client";
import type { TemplateCheck, TemplateVersion, TemplateVersionDetail } from "../../../../api/types";
import { type Draft, newDraft } from "./document";
import { useHistory } from "./useHistory";
import { type Saving, type Stored, useSaving } from "./useSaving";

const CHECK_MS = 250;
const RETRY_MS = 3_000;
const MALFORMED = new Set([413, 422]);

export interface Editing extends Saving {
  draft: Draft | null;
  check: TemplateCheck | null;
  /** Whether `check` and `malformed` are of an earlier state of the draft. */
  checking: boolean;
  /** What keeps the document from being read at all. */
  malformed: Problem | null;
  problem: Problem | null;
  /** The newest version, if there is one. */
  published: Draft | null;
  change: (draft: Draft) => void;
  undo: (() => void) | null;
  redo: (() => void) | null;
  reload: () => void;
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

interface Beginning extends Stored {
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
  const history = useHistory();
  const [begun, setBegun] = useState<Beginning | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [turn, setTurn] = useState(0);
  const reload = () => setTurn((number) => number + 1);
  const saving = useSaving(pathOf(vertical, "draft"), begun, history, reload);
  const { restart } = history;
  useEffect(() => {
    let dropped = false;
    begin(vertical, title).then(
      (found) => {
        if (dropped) return;
        restart(found.draft);
        setBegun(found);
        setProblem(null);
      },
      (error: unknown) => !dropped && setProblem(toProblem(error)),
    );
    return () => {
      dropped = true;
    };
  }, [vertical, title, turn]);
  const { draft, change, undo, redo } = history;
  const checked = useCheck(draft);
  const published = begun?.published ?? null;
  return { ...saving, ...checked, draft, problem, published, change, undo, redo, reload };
}

/** What the service last answered, and the draft that it was asked about. */
interface Checked {
  draft: Draft;
  check: TemplateCheck | null;
  malformed: Problem | null;
}

/** All findings of the draft; where it cannot be read, those of the last one that could. */
function useCheck(draft: Draft | null): Pick<Editing, "check" | "checking" | "malformed"> {
  const [checked, setChecked] = useState<Checked | null>(null);
  useEffect(() => {
    if (draft === null) return undefined;
    let dropped = false;
    const ask = () => {
      post<TemplateCheck>("/process-templates/validate", draft).then(
        (check) => !dropped && setChecked({ draft, check, malformed: null }),
        (error: unknown) => {
          const malformed = toProblem(error);
          if (dropped) return;
          if (MALFORMED.has(malformed.status))
            setChecked((before) => ({ draft, check: before?.check ?? null, malformed }));
          else timer = setTimeout(ask, RETRY_MS);
        },
      );
    };
    let timer = setTimeout(ask, CHECK_MS);
    return () => {
      dropped = true;
      clearTimeout(timer);
    };
  }, [draft]);
  return {
    check: checked?.check ?? null,
    checking: checked?.draft !== draft,
    malformed: checked?.malformed ?? null,
  };
}
