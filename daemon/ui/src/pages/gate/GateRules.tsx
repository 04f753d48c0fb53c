/** What a gate asks for: who decides, how many, by when, and what holds that up. */

import { useMemo } from "react";
import type { Gate } from "../../api/types";
import { DueTime } from "../../components/DueTime";
import { Note } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { aRole, formatTime } from "../../text/labels";
import {
  anchorText,
  deadlineText,
  decidersText,
  dutyText,
  fourEyesText,
  quorumText,
} from "../../text/policy";
import type { Standing } from "./useStanding";
import { gate as t } from "../../text/en/gate";

export function GateRules({
  gate,
  standing: { solo, fourEyesOpen },
  label,
  clock,
}: {
  gate: Gate;
  standing: Standing;
  label: (step: string) => string;
  clock: (id: string) => string;
}) {
  const { policy, escalation, breach_role: breachRole } = gate;
  const anchor = anchorText(policy, clock);
  const rules = useMemo(
    () =>
      [decidersText(gate), quorumText(policy), fourEyesText(policy, label), dutyText(gate)].filter(
        (text) => text !== null,
      ),
    [gate, policy, label],
  );
  const asks = policy.groups.length > 0 || gate.function !== null || rules.length > 1;
  if (!asks && gate.due_at === null && escalation === null && breachRole === null) return null;
  return (
    <section className="card" aria-label={t("rules")}>
      <h2>{t("rules")}</h2>
      <ul className="rules">
        {rules.map((text) => (
          <li key={text}>
            <Label text={text} maxLength={400} />
          </li>
        ))}
        {fourEyesOpen && <li>{t("fourEyesOpen")}</li>}
        {solo && asks && <li>{t("solo")}</li>}
        {escalation !== null && (
          <li>{t("escalated", { at: formatTime(escalation.at), role: aRole(escalation.to) })}</li>
        )}
        {breachRole !== null && <li>{t("breached", { role: aRole(breachRole) })}</li>}
        {gate.due_at !== null && (
          <li>
            <strong>
              <DueTime at={gate.due_at} />
            </strong>
            .{" "}
            {anchor !== null && (
              <>
                <Label text={anchor} maxLength={300} />{" "}
              </>
            )}
            {deadlineText(policy, escalation !== null)}
          </li>
        )}
      </ul>
      {gate.blocked !== null && (
        <Note
          kind="warn"
          title={t("blocked", { count: gate.blocked.needed, eligible: gate.blocked.eligible })}
        >
          <p>{t("blockedHint")}</p>
        </Note>
      )}
    </section>
  );
}
