/** The search and the filters of the inbox. */

import { getAll } from "../../api/client";
import type { Group } from "../../api/types";
import { Filter } from "../../components/Filter";
import { FilterBar } from "../../components/list/FilterBar";
import type { Query } from "../../state/query";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { roleLabel, ROLES, tierLabel, TIERS } from "../../text/labels";
import { AGES, DUES, FILTERS, ORDERS } from "./useInbox";
import { common } from "../../text/en/common";
import { inbox as t } from "../../text/en/inbox";

const GROUPS_MAX = 1_000;
const GATE_ROLES = ROLES.slice(ROLES.indexOf("manager"));

export function InboxFilters({ query, titles }: { query: Query; titles: Map<string, string> }) {
  const named = (kind: string, choices: object): [string, string][] =>
    Object.keys(choices).map((id) => [id, t.code(kind, id)]);
  const choose = (name: string, label: string, options: [string, string][]) => (
    <Filter
      label={label}
      value={query.get(name)}
      onChange={(value) => query.set(name, value)}
      options={options}
    />
  );
  return (
    <FilterBar query={query} search={common("search")} names={FILTERS}>
      {choose("for", t("column.whom"), useForWhom())}
      {choose("template", t("template"), [["", t("all")], ...sorted(titles)])}
      {choose("risk", t("column.risk"), [
        ["", t("all")],
        ...TIERS.map((tier): [string, string] => [tier, tierLabel(tier)]),
      ])}
      {choose("age", t("waiting"), [["", t("anyTime")], ...named("age", AGES)])}
      {choose("due", t("column.due"), [["", t("anyTime")], ...named("due", DUES)])}
      <Filter
        label={t("order")}
        value={query.get("order") || "risk"}
        onChange={(value) => query.set("order", value === "risk" ? "" : value)}
        options={ORDERS.map((id): [string, string] => [id, t(`order.${id}`)])}
      />
    </FilterBar>
  );
}

function sorted(titles: Map<string, string>): [string, string][] {
  return [...titles].sort(([, a], [, b]) => a.localeCompare(b));
}

/** Whose gates can be listed: the reader's own, everybody's, those of a role or a group. */
function useForWhom(): [string, string][] {
  const { company } = useAccount();
  const path = `/companies/${encodeURIComponent(company.id)}/groups?limit=200`;
  const { value } = useLoad(path, () => getAll<Group>(path, GROUPS_MAX));
  return [
    ["", t("me")],
    ["all", t("everyone")],
    ...GATE_ROLES.map((role): [string, string] => [`role:${role}`, roleLabel(role)]),
    ...(value ?? []).map((group): [string, string] => [`group:${group.name}`, group.name]),
  ];
}
