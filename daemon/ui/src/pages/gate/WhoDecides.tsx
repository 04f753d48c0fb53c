/** Who may decide at a gate, and why the reader may not. */

import { get } from "../../api/client";
import { getFunctions } from "../../api/resources";
import type { CompanyFunction, Gate, Group, OpenGate } from "../../api/types";
import { Note } from "../../components/Feedback";
import { Label, Text } from "../../components/Text";
import { useMembers } from "../../state/members";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { namedDeciders, roleSentence } from "../../text/people";
import { decidersText, startersOf, whyNotText } from "../../text/policy";
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

/** The names of the others who may decide, as far as function, role and groups say. */
function useOthers({ run, gate }: GateSnapshot, may: boolean): string | null {
  const { member_id } = useAccount();
  const { value: members } = useMembers();
  const { role, four_eyes } = gate.policy;
  const inside = useInside(gate);
  if (members === null || inside === null) return null;
  const able = members.filter(
    (one) =>
      (inside === "all" || inside.has(one.id)) &&
      !(four_eyes.includes("starter") && startersOf(run).includes(one.email)),
  );
  const needed = gate.function?.bound === true ? "viewer" : role;
  return namedDeciders(able, needed, member_id, may ? "conjunction" : "disjunction");
}

/** The members whom a bound function or the groups of a gate let decide; null while unknown. */
function useInside({ policy, function: filled }: Gate): "all" | Set<string> | null {
  const company = `/companies/${encodeURIComponent(useAccount().company.id)}`;
  const id = filled?.bound === true ? filled.id : null;
  const bindings = useLoad<Record<string, CompanyFunction>>(`function ${id}`, () =>
    id === null ? Promise.resolve({}) : getFunctions(company),
  ).value;
  const binding = id === null ? undefined : bindings?.[id];
  const names = id === null ? policy.groups : (binding?.groups ?? []);
  const groups = useLoad(names.length === 0 ? "no groups" : `${company}/groups`, () =>
    names.length === 0 ? Promise.resolve([]) : get<Group[]>(`${company}/groups`),
  ).value;
  if (groups === null || bindings === null) return null;
  if (id === null && names.length === 0) return "all";
  return new Set([
    ...(binding?.members ?? []),
    ...groups.filter((one) => names.includes(one.name)).flatMap((one) => one.members),
  ]);
}
