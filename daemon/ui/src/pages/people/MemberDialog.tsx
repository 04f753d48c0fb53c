/** The questions before a member is removed, leaves, or becomes the owner. */

import type { Member } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";
import { people as t } from "../../text/en/people";

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
      <Dialog title={t("handOverAsk")} yes={t("handOver")} danger onYes={onYes} onNo={onNo}>
        <p>{t("handOverHint", { name, company: <Label text={company.name} /> })}</p>
      </Dialog>
    );
  const [title, yes] =
    member.status === "pending"
      ? [t("withdrawAsk"), t("withdraw")]
      : member.id === own
        ? [t("leaveAsk"), t("leave")]
        : [t("removeAsk"), t("remove")];
  return (
    <Dialog title={title} yes={yes} danger onYes={onYes} onNo={onNo}>
      <p>
        {member.id === own
          ? t("youLose", { company: <Label text={company.name} /> })
          : t("memberLoses", { name, company: <Label text={company.name} /> })}
      </p>
    </Dialog>
  );
}
