/** Who may decide at a gate, and why the reader may not. */

import { Note } from "../../components/Feedback";
import { Label, Text } from "../../components/Text";
import { useMembers } from "../../state/members";
import { useAccount } from "../../state/session";
import { namedDeciders, roleSentence } from "../../text/people";
import { decidersText, whyNotText } from "../../text/policy";
import type { GateSnapshot } from "./differences";
import type { Standing } from "./useStanding";
import { gate as t } from "../../text/en/gate";

interface Props {
  shown: GateSnapshot;
  standing: Standing;
  may: boolean;
  comment: string;
  label: (step: string) => string;
}

export function WhoDecides({ shown, standing, may, comment, label }: Props) {
  const { run, gate } = shown;
  const { role, user } = useAccount();
  const { whyNot } = standing;
  const others = useOthers(standing, may);
  if (may)
    return (
      <p className="muted small gap">
        {decidersText(gate)} {roleSentence(role)}
        {others !== null && (
          <> {t("othersWhoMay", { others: <Label text={others} maxLength={300} /> })}</>
        )}
      </p>
    );
  const why =
    whyNot === null || whyNot === "role"
      ? `${decidersText(gate)} ${roleSentence(role)}`
      : whyNotText(whyNot, gate, run, user.email, label);
  return (
    <Note kind={whyNot === "already_decided" ? "good" : "info"} title={why}>
      <p>
        {whyNot !== "already_decided" && t("readOnly")}
        {others !== null && (
          <>
            {" "}
            {t(whyNot === "already_decided" ? "othersMayDecide" : "ask", {
              others: <Label text={others} maxLength={300} />,
            })}
          </>
        )}
      </p>
      {comment.trim() !== "" && whyNot !== "already_decided" && (
        <>
          <p>{t("commentNotSent")}</p>
          <blockquote>
            <Text text={comment} />
          </blockquote>
        </>
      )}
    </Note>
  );
}

/** The names of the others who may decide now, as the service says. */
function useOthers({ deciders, decidersCount }: Standing, may: boolean): string | null {
  const { user } = useAccount();
  const { value: members } = useMembers();
  if (members === null) return null;
  const others = deciders.filter((one) => one !== user.email);
  const count = decidersCount - (deciders.length - others.length);
  return namedDeciders(members, others, count, may ? "conjunction" : "disjunction");
}
