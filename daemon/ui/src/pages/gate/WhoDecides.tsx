/** Who may decide at a gate, and why the reader may not. */

import { get } from "../../api/client";
import type { Group, OpenGate } from "../../api/types";
import { Note } from "../../components/Feedback";
import { Label, Text } from "../../components/Text";
import { useMembers } from "../../state/members";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { namedDeciders, roleSentence } from "../../text/people";
import { decidersText, whyNotText } from "../../text/policy";
import type { GateSnapshot } from "./differences";
import { gate as t } from "../../text/en/gate";

interface Props {
  shown: GateSnapshot;
  may: boolean;
  whyNot: OpenGate["why_not"];
  comment: string;
  label: (step: string) => string;
}

export function WhoDecides({ shown, may, whyNot, comment, label }: Props) {
  const { run, gate } = shown;
  const { role, user } = useAccount();
  const others = useOthers(shown, may);
  if (may)
    return (
      <p className="muted small gap">
        {decidersText(gate.policy)} {roleSentence(role)}
        {others !== null && (
          <> {t("othersWhoMay", { others: <Label text={others} maxLength={300} /> })}</>
        )}
      </p>
    );
  const why =
    whyNot === null || whyNot === "role"
      ? `${decidersText(gate.policy)} ${roleSentence(role)}`
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

/** The names of the others who may decide, as far as role and groups say. */
function useOthers({ run, gate }: GateSnapshot, may: boolean): string | null {
  const { company, member_id } = useAccount();
  const { value: members } = useMembers();
  const { groups, role, four_eyes } = gate.policy;
  const path = `/companies/${encodeURIComponent(company.id)}/groups`;
  const { value } = useLoad(groups.length === 0 ? "no groups" : path, () =>
    groups.length === 0 ? Promise.resolve([]) : get<Group[]>(path),
  );
  if (members === null || value === null) return null;
  const inside = new Set(
    value.filter((group) => groups.includes(group.name)).flatMap((group) => group.members),
  );
  const able = members.filter(
    (one) =>
      (groups.length === 0 || inside.has(one.id)) &&
      !(four_eyes.includes("starter") && one.email === run.created_by),
  );
  return namedDeciders(able, role, member_id, may ? "conjunction" : "disjunction");
}
