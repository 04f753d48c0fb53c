/** The keys of a list, shown by `?`. */

import { useState } from "react";
import { useShortcuts } from "../../state/shortcuts";
import { Dialog } from "../Dialog";

const KEYS: [string, string][] = [
  ["j, ↓", "Next row"],
  ["k, ↑", "Row before"],
  ["Enter", "Open"],
  ["x", "Select"],
  ["/", "Search this list"],
  ["Ctrl K", "Find anything"],
  ["?", "These keys"],
];

export function ShortcutHelp({ selects }: { selects: boolean }) {
  const [open, setOpen] = useState(false);
  useShortcuts({ "?": () => setOpen(true) });
  return (
    <>
      <button type="button" className="link small keys" onClick={() => setOpen(true)}>
        Keyboard
      </button>
      {open && (
        <Dialog
          title="Keyboard"
          yes="Close"
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
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}
