/** A modal dialog. The browser's own dialog element handles focus and Escape. */

import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { Label } from "./Text";
import { common as t } from "../text/en/common";

interface Props {
  title: string;
  yes: string;
  /** Null for a dialog that only tells something. */
  no?: string | null;
  danger?: boolean;
  busy?: boolean;
  /** Whether it can be done; it can be cancelled all the same. */
  ready?: boolean;
  onYes: () => void;
  onNo: () => void;
  children: ReactNode;
}

export function Dialog({
  title,
  yes,
  no = t("cancel"),
  danger = false,
  busy = false,
  ready = true,
  onYes,
  onNo,
  children,
}: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed before it is removed, a dialog gives the focus back to where it was.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onNo();
      }}
    >
      <h2 id={id}>
        <Label text={title} maxLength={400} />
      </h2>
      <div className="dialog-body">{children}</div>
      <div className="actions">
        {no !== null && (
          <button type="button" className="button" onClick={onNo} disabled={busy}>
            {no}
          </button>
        )}
        <button
          type="button"
          className={danger ? "button danger" : "button primary"}
          onClick={onYes}
          disabled={busy || !ready}
        >
          {yes}
        </button>
      </div>
    </dialog>
  );
}
