/** The buttons of the editor: new steps, undo, copies, and the other views. */

import type { ReactNode } from "react";
import { dragKind } from "../../../graph/editing";
import { Icon } from "../../../components/Icon";
import { KIND_NAMES, type StepKind } from "./document";

export type View = "graph" | "text" | "changes";

export interface Deeds {
  add: (kind: StepKind) => void;
  undo: (() => void) | null;
  redo: (() => void) | null;
  copy: (() => void) | null;
  paste: (() => void) | null;
}

interface Props {
  deeds: Deeds;
  view: View;
  onView: (view: View) => void;
  trying: boolean;
  onTry: () => void;
  /** Whether there is a version with which the draft can be compared. */
  comparable: boolean;
  children: ReactNode;
}

export function Toolbar({ deeds, view, onView, trying, onTry, comparable, children }: Props) {
  const toggle = (one: View) => onView(view === one ? "graph" : one);
  return (
    <div className="toolbar" role="toolbar" aria-label="Editing">
      <div className="palette" role="group" aria-label="New steps">
        {(Object.keys(KIND_NAMES) as StepKind[]).map((kind) => (
          <button
            type="button"
            className="button"
            key={kind}
            draggable
            onDragStart={(event) => dragKind(event, kind)}
            onClick={() => deeds.add(kind)}
          >
            <Icon name={kind === "wait" ? "clock" : kind} size={16} /> {KIND_NAMES[kind]}
          </button>
        ))}
      </div>
      <Deed text="Undo" deed={deeds.undo} />
      <Deed text="Redo" deed={deeds.redo} />
      <Deed text="Copy" deed={deeds.copy} />
      <Deed text="Paste" deed={deeds.paste} />
      <button
        type="button"
        className="button"
        aria-pressed={view === "text"}
        onClick={() => toggle("text")}
      >
        Text
      </button>
      {comparable && (
        <button
          type="button"
          className="button"
          aria-pressed={view === "changes"}
          onClick={() => toggle("changes")}
        >
          Changes
        </button>
      )}
      <button type="button" className="button" aria-pressed={trying} onClick={onTry}>
        Try it
      </button>
      {children}
    </div>
  );
}

function Deed({ text, deed }: { text: string; deed: (() => void) | null }) {
  return (
    <button type="button" className="button" onClick={deed ?? undefined} disabled={deed === null}>
      {text}
    </button>
  );
}
