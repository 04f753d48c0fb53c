/** The keys of a list, shown by `?`. */

import { useState } from "react";
import { useShortcuts } from "../../state/shortcuts";
import { common as t } from "../../text/en/common";
import { Dialog } from "../Dialog";

const KEYS = [
  ["j, ↓", "keyNext"],
  ["k, ↑", "keyBefore"],
  ["Enter", "keyOpen"],
  ["x", "keySelect"],
  ["/", "keySearch"],
  ["Ctrl K", "findAnything"],
  ["?", "keyKeys"],
] as const;

export function ShortcutHelp({ selects }: { selects: boolean }) {
  const [open, setOpen] = useState(false);
  useShortcuts({ "?": () => setOpen(true) });
  return (
    <>
      <button type="button" className="link small keys" onClick={() => setOpen(true)}>
        {t("keyboard")}
      </button>
      {open && (
        <Dialog
          title={t("keyboard")}
          yes={t("close")}
          no={null}
          onYes={() => setOpen(false)}
          onNo={() => setOpen(false)}
        >
          <dl className="facts">
            {KEYS.filter(([key]) => selects || key !== "x").map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{t(what)}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}
