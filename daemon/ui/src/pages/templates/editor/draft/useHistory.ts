/** Undo and redo. Typing in one field is one change. */

import { useRef, useState } from "react";
import type { Draft } from "./document";

const HISTORY_MAX = 200;
const JOINED_MS = 1_500;

export interface History {
  draft: Draft | null;
  /** The draft as it is now, for what runs later. */
  latest: { current: Draft | null };
  change: (draft: Draft) => void;
  undo: (() => void) | null;
  redo: (() => void) | null;
  restart: (draft: Draft) => void;
  /** Put a draft in place of this one, and change those that undo leads to alike; with `undone`
   * undo leads to this one first. */
  rebase: (draft: Draft, alike: (draft: Draft) => Draft, undone: boolean) => void;
}

interface Entries {
  past: Draft[];
  draft: Draft | null;
  future: Draft[];
}

export function useHistory(): History {
  const [entries, setEntries] = useState<Entries>({ past: [], draft: null, future: [] });
  const latest = useRef<Draft | null>(null);
  const typed = useRef<{ field: Element | null; at: number }>({ field: null, at: 0 });
  const put = (made: Entries) => {
    latest.current = made.draft;
    setEntries(made);
  };
  const { past, draft, future } = entries;
  const before = past.at(-1);
  const after = future[0];
  const forget = () => {
    typed.current = { field: null, at: 0 };
  };
  return {
    draft,
    latest,
    change: (made) => {
      if (draft === null) return;
      const field = writtenField();
      const at = performance.now();
      const joined = field !== null && field === typed.current.field;
      const goesOn = joined && at - typed.current.at < JOINED_MS;
      typed.current = { field, at };
      put({
        past: goesOn ? past : [...past.slice(1 - HISTORY_MAX), draft],
        draft: made,
        future: [],
      });
    },
    undo:
      draft === null || before === undefined
        ? null
        : () => {
            forget();
            put({ past: past.slice(0, -1), draft: before, future: [draft, ...future] });
          },
    redo:
      draft === null || after === undefined
        ? null
        : () => {
            forget();
            put({ past: [...past, draft], draft: after, future: future.slice(1) });
          },
    restart: (made) => put({ past: [], draft: made, future: [] }),
    rebase: (made, alike, undone) => {
      latest.current = made;
      setEntries((now) => {
        const before = undone && now.draft !== null ? [...now.past, now.draft] : now.past;
        return { past: before.map(alike), draft: made, future: now.future.map(alike) };
      });
    },
  };
}

/** The field in which somebody is writing. */
function writtenField(): Element | null {
  const at = document.activeElement;
  return at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement ? at : null;
}
