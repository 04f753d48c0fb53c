/** What changed at a gate while somebody looked at it: nothing can be decided until they have seen it. */

import { between, type Shown } from "../changes";
import { Note } from "./Bits";
import { Label } from "./Text";

export function Changes({ before, after, onSeen }: { before: Shown; after: Shown; onSeen: () => void }) {
  const changes = between(before, after);
  return (
    <Note kind="warn" title="This gate changed since you opened it">
      <ul className="changes">
        {changes.map((change, index) => (
          <li key={index}>
            <Label text={change} most={300} />
          </li>
        ))}
      </ul>
      <button type="button" className="button primary" onClick={onSeen}>
        Show me how it is now
      </button>
    </Note>
  );
}
