/** Names and roles of people, in words. */

import type { Member } from "../api/types";
import { labels as t } from "./en/labels";
import { formatList } from "./formats";
import { aRole } from "./labels";

const DECIDERS_NAMED = 5;

/** The name of each member by e-mail address; a name that several have comes with the address. */
export function memberNames(members: Member[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of members) if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    members.map(({ email, name }) => [
      email.toLowerCase(),
      name === null ? email : (counts.get(name) ?? 0) > 1 ? `${name} (${email})` : name,
    ]),
  );
}

/** “You are a member.” */
export function roleSentence(role: string): string {
  return t("youAre", { role: aRole(role) });
}

/** The first of so many people by their e-mail addresses: “Ada, Grace and 3 others”. */
export function namedDeciders(
  members: Member[],
  deciders: readonly string[],
  count: number,
  type: "conjunction" | "disjunction",
): string | null {
  if (deciders.length === 0) return null;
  const names = memberNames(members);
  const shown = deciders.slice(0, DECIDERS_NAMED).map((one) => names.get(one.toLowerCase()) ?? one);
  const rest = count - shown.length;
  return formatList(rest === 0 ? shown : [...shown, t("others", { count: rest })], type);
}
