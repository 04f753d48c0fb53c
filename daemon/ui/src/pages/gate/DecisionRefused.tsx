/** Why the service refused a decision. */

import type { Problem } from "../../api/client";
import { Note } from "../../components/Feedback";
import { useNames } from "../../state/members";
import { useAccount } from "../../state/session";
import { formatTime } from "../../text/labels";
import { actorName, describeDecision, toSentence } from "../../text/sentences";
import { gate as t } from "../../text/en/gate";

export function DecisionRefused({ problem }: { problem: Problem }) {
  const { user } = useAccount();
  const nameOf = useNames();
  const before = problem.body["decided"] as
    { decision: string; by: string; at: string } | null | undefined;
  if (problem.code === "already_decided" || before?.by === user.email)
    return <Note kind="good" title={t("countedBefore")} />;
  if (before !== null && before !== undefined) {
    return (
      <Note
        kind="warn"
        title={t("decidedBefore", {
          who: actorName(before.by, user.email, nameOf),
          did: describeDecision(before.decision),
          at: formatTime(before.at),
        })}
      />
    );
  }
  if (problem.status === 412) return <Note kind="warn" title={t("gateChanged")} />;
  if (problem.status === 409) return <Note kind="warn" title={t("noLongerWaits")} />;
  if (problem.outcomeUnknown) return <Note kind="warn" title={t("responseLost")} />;
  return (
    <Note kind="bad" title={toSentence(problem.message)}>
      {" "}
      {t("notRecorded")}
    </Note>
  );
}
