/** The questions before a member is removed, leaves, or becomes the owner. */

import type { Member } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";

export interface MemberQuestion {
  what: "remove" | "own";
  member: Member;
}

interface Props {
  question: MemberQuestion;
  onYes: () => void;
  onNo: () => void;
}

export function MemberDialog({ question: { what, member }, onYes, onNo }: Props) {
  const { company, member_id: own } = useAccount();
  const name = <Label text={member.name ?? member.email} />;
  if (what === "own")
    return (
      <Dialog title="Hand the company over?" yes="Hand it over" danger onYes={onYes} onNo={onNo}>
        <p>
          {name} becomes the owner of <Label text={company.name} />, and you become an admin. Only
          the new owner can give it back.
        </p>
      </Dialog>
    );
  const [title, yes] =
    member.status === "pending"
      ? ["Withdraw the invitation?", "Withdraw"]
      : member.id === own
        ? ["Leave the company?", "Leave"]
        : ["Remove this member?", "Remove"];
  return (
    <Dialog title={title} yes={yes} danger onYes={onYes} onNo={onNo}>
      <p>
        {member.id === own ? "You have" : <>{name} has</>} no access to{" "}
        <Label text={company.name} /> from then on. What was decided stays in the record.
      </p>
    </Dialog>
  );
}
