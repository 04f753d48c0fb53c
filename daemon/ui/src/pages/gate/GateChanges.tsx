/** What changed at a gate while it was open. A decision needs a refresh first. */

import { Note } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { gateDifferences, type GateSnapshot } from "./differences";
import { gate as t } from "../../text/en/gate";

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
    <Note kind="warn" title={t("changedSince")}>
      <ul className="changes">
        {changes.map((change, index) => (
          <li key={index}>
            <Label text={change} maxLength={300} />
          </li>
        ))}
      </ul>
      <button type="button" className="button primary" onClick={onSeen}>
        {t("showCurrent")}
      </button>
    </Note>
  );
}
