/** Keys that work anywhere on a page, unless somebody types. */

import { useEffect, useRef } from "react";

export type Shortcuts = Record<string, (event: KeyboardEvent) => void>;

/** Single keys by their name. They do nothing in fields, in dialogs, and with a modifier. */
export function useShortcuts(keys: Shortcuts): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
      const own = latest.current[event.key];
      if (own === undefined) return;
      event.preventDefault();
      own(event);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

const TYPES_TEXT = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(TYPES_TEXT) !== null;
}
