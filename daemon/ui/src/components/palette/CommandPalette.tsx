/** Ctrl K: finds gates, runs, templates, connectors, people and pages, and goes there. */

import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { navigate } from "../../state/router";
import { Icon } from "../Icon";
import { Label } from "../Text";
import { type Found, useFound } from "./useFound";
import { common as t } from "../../text/en/common";

export function CommandPalette() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey)
        return;
      event.preventDefault();
      setOpen((before) => !before && document.querySelector("dialog[open]") === null);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <button type="button" className="find" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <Icon name="search" size={18} />
        <span>{t("find")}</span>
        <kbd>Ctrl K</kbd>
      </button>
      {open && <Palette onClose={() => setOpen(false)} />}
    </>
  );
}

function Palette({ onClose }: { onClose: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { found, busy } = useFound(text);
  const chosen = found[Math.min(at, found.length - 1)];
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const go = (one: Found | undefined) => {
    if (one === undefined) return;
    onClose();
    navigate(one.address);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(found.length - 1, at + step)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      go(chosen);
    }
  };
  return (
    <dialog
      ref={ref}
      className="palette"
      aria-label={t("findAnything")}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div className="palette-body" onKeyDown={press}>
        <input
          type="text"
          role="combobox"
          aria-label={t("findWhat")}
          aria-expanded={found.length > 0}
          aria-controls={id}
          aria-autocomplete="list"
          {...(chosen === undefined ? {} : { "aria-activedescendant": `${id}-${chosen.id}` })}
          autoFocus
          autoComplete="off"
          placeholder={t("findPlaceholder")}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
        />
        <ul id={id} role="listbox" aria-label={t("found")} aria-busy={busy}>
          {found.map((one) => (
            <Choice
              key={one.id}
              one={one}
              id={`${id}-${one.id}`}
              chosen={one === chosen}
              onChoose={() => go(one)}
            />
          ))}
        </ul>
        <p className="muted small" role="status">
          {found.length > 0 ? "" : busy ? t("searching") : t("nothingFound")}
        </p>
      </div>
    </dialog>
  );
}

function Choice({
  one,
  id,
  chosen,
  onChoose,
}: {
  one: Found;
  id: string;
  chosen: boolean;
  onChoose: () => void;
}) {
  const ref = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (chosen) ref.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <li
      ref={ref}
      id={id}
      role="option"
      aria-selected={chosen}
      className={chosen ? "chosen" : ""}
      onClick={onChoose}
    >
      <Icon name={one.icon} size={18} />
      <span className="found-name">
        <Label text={one.name} maxLength={120} />
      </span>
      <span className="muted small">
        <Label text={one.about} maxLength={80} />
      </span>
    </li>
  );
}
