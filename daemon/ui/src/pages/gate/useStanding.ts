/** What a gate says to the reader: whether they may decide, why not, and for whom else. */

import { useEffect } from "react";
import { get, getAll } from "../../api/client";
import { useEvents, usePeopleChanges } from "../../api/eventStream";
import type { Delegation, Gate, Member, OpenGate, OpenGateDetail, Run } from "../../api/types";
import { useMembers } from "../../state/members";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { isAtLeast, mayDecide } from "../../text/labels";

export interface Standing {
  canDecide: boolean;
  whyNot: OpenGate["why_not"];
  solo: boolean;
  /** Four eyes keep nobody out: nobody knows for whom the run was started. */
  fourEyesOpen: boolean;
  /** Delegations that let the reader decide for others at this gate. */
  delegations: Delegation[];
  /** Who has said that they look at it; that binds nobody. */
  claimedBy: string | null;
  /** The addresses of the first of those who may decide now, and how many they all are. */
  deciders: readonly string[];
  decidersCount: number;
  reload: () => void;
}

const DELEGATIONS_MAX = 200;

export function useStanding(run: Run, gate: Gate, version: number): Standing {
  const { role, member_id } = useAccount();
  const path = `/process-runs/${run.id}/gates/${encodeURIComponent(gate.step_id)}`;
  const { value, reload } = useLoad(path, () => get<OpenGateDetail>(path));
  const given = useLoad("delegations", () =>
    getAll<Delegation>("/delegations?limit=200", DELEGATIONS_MAX),
  );
  useEffect(reload, [reload, version, role]);
  usePeopleChanges(reload);
  // Without an event of a run: claims have changed, or something may have been missed.
  useEvents((events) => {
    if (events.length === 0) reload();
  });
  const members = useMembers().value;
  const now = Date.now();
  const delegations = (given.value ?? []).filter(
    (one) =>
      one.to === member_id &&
      Date.parse(one.from) <= now &&
      now < Date.parse(one.until) &&
      (one.verticals === null || one.verticals.includes(run.vertical)) &&
      mayGive(one.giver, value, members),
  );
  // Who fills a bound function decides whatever their role, which the service alone knows.
  const filled = gate.function?.bound === true && value !== null;
  const opened = [gate.escalation?.to ?? null, gate.breach_role];
  const may =
    filled ||
    mayDecide(role, gate.role) ||
    opened.some((least) => least !== null && isAtLeast(role, least));
  return {
    canDecide: value === null ? may : value.can_decide && !value.for_another && may,
    whyNot: value === null || !may ? (may ? null : "role") : value.why_not,
    solo: value?.solo ?? false,
    fourEyesOpen: value?.four_eyes_open ?? false,
    delegations,
    claimedBy: value?.claimed_by ?? null,
    deciders: value?.deciders ?? [],
    decidersCount: value?.deciders_count ?? 0,
    reload,
  };
}

/** Whether a giver may decide here, so that who has the delegation may; unknown, they may. */
function mayGive(giver: string, open: OpenGateDetail | null, members: Member[] | null): boolean {
  if (open === null || members === null) return true;
  const { can_decide, deciders, deciders_count: count } = open;
  const email = members.find(({ id }) => id === giver)?.email ?? "";
  return can_decide && (deciders.includes(email) || deciders.length < count);
}
