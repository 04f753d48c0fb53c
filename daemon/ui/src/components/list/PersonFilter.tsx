/** A person as a filter: the members, and whoever the address names. */

import { useMembers, useNames } from "../../state/members";
import type { Query } from "../../state/query";
import { Filter } from "../Filter";
import { common as t } from "../../text/en/common";

export function PersonFilter({ query, label }: { query: Query; label: string }) {
  const { value } = useMembers();
  const nameOf = useNames();
  const chosen = query.get("by");
  const emails = (value ?? []).map((member) => member.email);
  const all = chosen === "" || emails.includes(chosen) ? emails : [...emails, chosen];
  return (
    <Filter
      label={label}
      value={chosen}
      onChange={(next) => query.set("by", next)}
      options={[
        ["", t("anybody")],
        ...all.map((email): [string, string] => [email, nameOf(email)]),
      ]}
    />
  );
}
