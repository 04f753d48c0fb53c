/** The search field of a list. The address follows after a moment; `/` leads to it. */

import { useEffect, useId, useRef, useState } from "react";
import type { Query } from "../../state/query";
import { useShortcuts } from "../../state/shortcuts";

const PAUSE_MS = 60;

export function ListSearch({ query, label }: { query: Query; label: string }) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const asked = query.get("q");
  const [text, setText] = useState(asked);
  const sent = useRef(asked);
  const { set } = query;
  useEffect(() => {
    if (asked === sent.current) return;
    sent.current = asked;
    setText(asked);
  }, [asked]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text;
      set("q", text);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, set]);
  useShortcuts({
    "/": () => {
      field.current?.focus();
      field.current?.select();
    },
  });
  return (
    <div className="filter search">
      <label htmlFor={id}>{label}</label>
      <input
        ref={field}
        id={id}
        type="search"
        value={text}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
    </div>
  );
}
