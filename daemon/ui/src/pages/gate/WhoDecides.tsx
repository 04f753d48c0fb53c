/** Who may decide at a gate, and why the reader may not. */

import type { Gate } from "../../api/types";
import { Note } from "../../components/Feedback";
import { Label, Text } from "../../components/Text";
import { useMembers } from "../../state/members";
import { useAccount } from "../../state/session";
import { mayDecide } from "../../text/labels";
import { decidersSentence, namedDeciders, roleSentence } from "../../text/people";

export function WhoDecides({ gate, comment }: { gate: Gate; comment: string }) {
  const { role, member_id } = useAccount();
  const { value: members } = useMembers();
  const may = mayDecide(role, gate.role);
  const others =
    members === null ? null : namedDeciders(members, gate.role, member_id, may ? "and" : "or");
  const sentence = `${decidersSentence(gate.role)} ${roleSentence(role)}`;
  if (may)
    return (
      <p className="muted small gap">
        {sentence}
        {others !== null && (
          <>
            {" "}
            Others who may: <Label text={others} maxLength={300} />.
          </>
        )}
      </p>
    );
  return (
    <Note kind="info" title={sentence}>
      <p>
        You can read everything here, but not decide.
        {others !== null && (
          <>
            {" "}
            Ask <Label text={others} maxLength={300} />.
          </>
        )}
      </p>
      {comment.trim() !== "" && (
        <>
          <p>Your comment was not sent:</p>
          <blockquote>
            <Text text={comment} />
          </blockquote>
        </>
      )}
    </Note>
  );
}
