/** Why the service refused a decision. */

import type { Problem } from "../../api/client";
import { Note } from "../../components/Feedback";
import { useNames } from "../../state/members";
import { useAccount } from "../../state/session";
import { formatTime } from "../../text/labels";
import { actorName, describeDecision, toSentence } from "../../text/sentences";

export function DecisionRefused({ problem }: { problem: Problem }) {
  const { user } = useAccount();
  const nameOf = useNames();
  const before = problem.body["decided"] as
    { decision: string; by: string; at: string } | null | undefined;
  if (problem.code === "already_decided" || before?.by === user.email)
    return <Note kind="good" title="You have decided here before, and that decision counts." />;
  if (before !== null && before !== undefined) {
    return (
      <Note
        kind="warn"
        title={`${actorName(before.by, user.email, nameOf)} ${describeDecision(before.decision)} on ${formatTime(before.at)}. Your decision was not recorded.`}
      />
    );
  }
  if (problem.status === 412)
    return (
      <Note
        kind="warn"
        title="The gate has changed. Your decision was not recorded; review the current version."
      />
    );
  if (problem.status === 409)
    return (
      <Note kind="warn" title="The run no longer waits here. Your decision was not recorded." />
    );
  if (problem.outcomeUnknown)
    return (
      <Note
        kind="warn"
        title="The response was lost, so it is unknown whether your decision arrived. Confirm it again: it counts only once."
      />
    );
  return (
    <Note kind="bad" title={toSentence(problem.message)}>
      {" "}
      Your decision was not recorded.
    </Note>
  );
}
