/** What a gate asks for: who decides, how many, by when, and what holds that up. */

import { useMemo } from "react";
import type { Gate } from "../../api/types";
import { DueTime } from "../../components/DueTime";
import { Note } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { formatTime } from "../../text/labels";
import { deadlineText, decidersText, fourEyesText, quorumText } from "../../text/policy";
import { withArticle } from "../../text/sentences";

export function GateRules({
  gate,
  solo,
  label,
}: {
  gate: Gate;
  solo: boolean;
  label: (step: string) => string;
}) {
  const { policy, escalation } = gate;
  const rules = useMemo(
    () =>
      [decidersText(policy), quorumText(policy), fourEyesText(policy, label)].filter(
        (text) => text !== null,
      ),
    [policy, label],
  );
  const asks = policy.groups.length > 0 || rules.length > 1;
  if (!asks && gate.due_at === null && escalation === null) return null;
  return (
    <section className="card" aria-label="Rules of this gate">
      <h2>Rules of this gate</h2>
      <ul className="rules">
        {rules.map((text) => (
          <li key={text}>
            <Label text={text} maxLength={400} />
          </li>
        ))}
        {solo && asks && (
          <li>You are the only person of this company, so you decide alone. That is recorded.</li>
        )}
        {escalation !== null && (
          <li>
            The deadline passed on {formatTime(escalation.at)}: {withArticle(escalation.to)} may
            decide, too.
          </li>
        )}
        {gate.due_at !== null && (
          <li>
            <strong>
              <DueTime at={gate.due_at} />
            </strong>
            . {deadlineText(policy, escalation !== null)}
          </li>
        )}
      </ul>
      {gate.blocked !== null && (
        <Note
          kind="warn"
          title={`Nobody can pass this gate now: it needs ${gate.blocked.needed}, and ${gate.blocked.eligible} may decide.`}
        >
          <p>An admin can invite people, change roles and groups, or somebody delegates.</p>
        </Note>
      )}
    </section>
  );
}
