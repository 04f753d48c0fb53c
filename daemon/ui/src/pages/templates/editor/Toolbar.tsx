/** The buttons of the editor: new steps, undo, copies, and the other views. */

import type { ReactNode } from "react";
import { dragKind } from "../../../graph/editing";
import { Icon } from "../../../components/Icon";
import { kindName, KINDS } from "./draft/document";
import type { Deed, Deeds } from "./keys";
import { editor as t } from "../../../text/en/editor";

export type View = "graph" | "text" | "changes";

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
    <div className="toolbar" role="group" aria-label={t("editing")}>
      <div className="tool-group" role="group" aria-label={t("newSteps")}>
        {KINDS.map((kind) => (
          <button
            type="button"
            className="button"
            key={kind}
            draggable
            title={t(`add.${kind}`)}
            onDragStart={(event) => dragKind(event, kind)}
            onClick={() => deeds.add(kind)}
          >
            <Icon name={kind === "wait" ? "clock" : kind} size={16} /> {kindName(kind)}
          </button>
        ))}
      </div>
      <div className="tool-group" role="group" aria-label={t("changes")}>
        <DeedButton text={t("undo")} keys="Control+Z" deed={deeds.undo} />
        <DeedButton text={t("redo")} keys="Control+Y" deed={deeds.redo} />
        <DeedButton text={t("copy")} keys="Control+C" deed={deeds.copy} />
        <DeedButton text={t("paste")} keys="Control+V" deed={deeds.paste} />
      </div>
      <div className="tool-group" role="group" aria-label={t("views")}>
        <Toggle text="YAML" on={view === "text"} onClick={() => toggle("text")} />
        {comparable && (
          <Toggle text={t("compare")} on={view === "changes"} onClick={() => toggle("changes")} />
        )}
        <Toggle text={t("tryIt")} on={trying} onClick={onTry} />
        {children}
      </div>
    </div>
  );
}

function Toggle({ text, on, onClick }: { text: string; on: boolean; onClick: () => void }) {
  return (
    <button type="button" className="button" aria-pressed={on} onClick={onClick}>
      {text}
    </button>
  );
}

function DeedButton({ text, keys, deed }: { text: string; keys: string; deed: Deed }) {
  return (
    <button
      type="button"
      className="button"
      title={`${text} (${keys.replace("Control", "Ctrl")})`}
      aria-keyshortcuts={keys}
      onClick={deed ?? undefined}
      disabled={deed === null}
    >
      {text}
    </button>
  );
}
