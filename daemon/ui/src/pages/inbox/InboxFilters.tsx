/** The search and the filters of the inbox. */

import { getAll } from "../../api/client";
import type { Group } from "../../api/types";
import { Filter } from "../../components/Filter";
import { FilterBar } from "../../components/list/FilterBar";
import type { Query } from "../../state/query";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { humanize, ROLES, TIERS } from "../../text/labels";
import { AGES, DUES, FILTERS, ORDERS } from "./useInbox";

const GROUPS_MAX = 1_000;
const GATE_ROLES = ROLES.slice(ROLES.indexOf("manager"));

export function InboxFilters({ query, titles }: { query: Query; titles: Map<string, string> }) {
  const named = (choices: Record<string, { name: string }>): [string, string][] =>
    Object.entries(choices).map(([id, choice]) => [id, choice.name]);
  const choose = (name: string, label: string, options: [string, string][]) => (
    <Filter
      label={label}
      value={query.get(name)}
      onChange={(value) => query.set(name, value)}
      options={options}
    />
  );
  return (
    <FilterBar query={query} search="Search" names={FILTERS}>
      {choose("for", "For", useForWhom())}
      {choose("template", "Template", [["", "All"], ...sorted(titles)])}
      {choose("risk", "Risk", [
        ["", "All"],
        ...TIERS.map((tier): [string, string] => [tier, humanize(tier)]),
      ])}
      {choose("age", "Waiting", [["", "Any time"], ...named(AGES)])}
      {choose("due", "Due", [["", "Any time"], ...named(DUES)])}
      <Filter
        label="Order"
        value={query.get("order") || "risk"}
        onChange={(value) => query.set("order", value === "risk" ? "" : value)}
        options={Object.entries(ORDERS)}
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
    ["", "Me"],
    ["all", "Everyone"],
    ...GATE_ROLES.map((role): [string, string] => [`role:${role}`, humanize(role)]),
    ...(value ?? []).map((group): [string, string] => [`group:${group.name}`, group.name]),
  ];
}
