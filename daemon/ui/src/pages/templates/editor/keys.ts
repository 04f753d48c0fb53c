/** Keys that mean the same everywhere in the editor. */

import { type RefObject, useEffect, useRef } from "react";
import type { StepKind } from "./draft/document";

export type Deed = (() => void) | null;

export interface Deeds {
  add: (kind: StepKind) => void;
  undo: Deed;
  redo: Deed;
  copy: Deed;
  paste: Deed;
  remove: Deed;
  /** Back to the graph from the panel. */
  leave: Deed;
}

/** Listens on the window: when a step is deleted, the focus that was on it is nowhere. */
export function useKeys(editor: RefObject<HTMLElement | null>, deeds: Deeds) {
  const written = useRef<EventTarget | null>(null);
  const latest = useRef(deeds);
  latest.current = deeds;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { target } = event;
      if (event.defaultPrevented || !isHere(editor.current, target)) return;
      const field = fieldOf(target);
      const deed = deedOf(event, latest.current, field !== null, written.current === field);
      if (deed === null) return;
      event.preventDefault();
      deed();
    };
    const write = (event: Event) => {
      written.current = fieldOf(event.target);
    };
    const enter = () => {
      written.current = null;
    };
    addEventListener("keydown", press);
    addEventListener("input", write);
    addEventListener("focusin", enter);
    return () => {
      removeEventListener("keydown", press);
      removeEventListener("input", write);
      removeEventListener("focusin", enter);
    };
  }, [editor]);
}

function isHere(editor: HTMLElement | null, target: EventTarget | null): boolean {
  if (!(target instanceof Element) || target.closest("dialog") !== null) return false;
  return target === document.body || editor?.contains(target) === true;
}

function fieldOf(target: EventTarget | null): Element | null {
  return target instanceof Element ? target.closest("input, textarea, select") : null;
}

/** In a field that was written in, undo is the browser's own; in any other one it is the draft's. */
function deedOf(event: KeyboardEvent, deeds: Deeds, inField: boolean, written: boolean): Deed {
  const held = event.ctrlKey || event.metaKey;
  const letter = event.key.toLowerCase();
  if (event.key === "Escape") return deeds.leave;
  if (held && letter === "z" && !(inField && written))
    return event.shiftKey ? deeds.redo : deeds.undo;
  if (held && letter === "y" && !(inField && written)) return deeds.redo;
  if (inField) return null;
  if (held && letter === "c" && (getSelection()?.isCollapsed ?? true)) return deeds.copy;
  if (held && letter === "v") return deeds.paste;
  return event.key === "Delete" && !held ? deeds.remove : null;
}
