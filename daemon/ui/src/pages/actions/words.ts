/** Words of actions. */

import { outcomeLabel } from "../../text/labels";
import { actions as t } from "../../text/en/actions";

/** What came of an action. */
export function outcomeText(outcome: string): string {
  return t.code("outcome", outcome, outcomeLabel(outcome));
}

/** Why a rule's word is not what was decided. */
export function whyText(why: string): string {
  const maybe = /^the same call may have happened: (.+)$/.exec(why);
  if (maybe !== null) return t("why.maybeMade", { id: maybe[1] ?? "" });
  const same = /^the same call is under way: (.+)$/.exec(why);
  if (same !== null) return t("why.underWay", { id: same[1] ?? "" });
  const failed = /^condition failed: (.*)$/s.exec(why);
  if (failed !== null) return t("why.condition", { detail: failed[1] ?? "" });
  return t.code("why", why);
}
