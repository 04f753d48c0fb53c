/** What changed at a gate while it was open. A decision needs a refresh first. */

import { Note } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { gateDifferences, type GateSnapshot } from "./differences";

export function GateChanges({
  before,
  after,
  onSeen,
}: {
  before: GateSnapshot;
  after: GateSnapshot;
  onSeen: () => void;
}) {
  const changes = gateDifferences(before, after);
  return (
    <Note kind="warn" title="This gate has changed since you opened it">
      <ul className="changes">
        {changes.map((change, index) => (
          <li key={index}>
            <Label text={change} maxLength={300} />
          </li>
        ))}
      </ul>
      <button type="button" className="button primary" onClick={onSeen}>
        Show the current version
      </button>
    </Note>
  );
}
