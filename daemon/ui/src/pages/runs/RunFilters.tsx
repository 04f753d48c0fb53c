/** The search and the filters of the runs. */

import { useMemo } from "react";
import { getTemplates } from "../../api/resources";
import { Filter } from "../../components/Filter";
import { DateFilter, endOfDay, startOfDay } from "../../components/list/DateFilter";
import { FilterBar } from "../../components/list/FilterBar";
import { PersonFilter } from "../../components/list/PersonFilter";
import type { Query } from "../../state/query";
import { useLoad } from "../../state/useLoad";
import { humanize, RUN_STATUSES, statusLabel } from "../../text/labels";
import { common } from "../../text/en/common";
import { runs as t } from "../../text/en/runs";

export const FILTERS = ["q", "status", "template", "at", "by", "since", "until"];
const ID = /^[0-9a-f]{8}-[0-9a-f-]{0,27}$/;

/** What the address asks for, as the service has it. */
export function useRunPath(query: Query): string {
  const [q, status, template, at, by, since, until] = FILTERS.map(query.get) as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  return useMemo(() => {
    const asked = new URLSearchParams({ view: "row" });
    const text = q.trim();
    if (text !== "") asked.set(ID.test(text) ? "id" : "q", text);
    const given = { status, vertical: template, parked_at: at, created_by: by };
    for (const [name, value] of Object.entries(given)) if (value !== "") asked.set(name, value);
    const [first, last] = [startOfDay(since), endOfDay(until)];
    if (first !== null) asked.set("created_after", first);
    if (last !== null) asked.set("created_before", last);
    return `/process-runs/?${asked}`;
  }, [q, status, template, at, by, since, until]);
}

export function RunFilters({ query, titles }: { query: Query; titles: Map<string, string> }) {
  const choose = (name: string, label: string, options: [string, string][]) => (
    <Filter
      label={label}
      value={query.get(name)}
      onChange={(value) => query.set(name, value)}
      options={[["", t("all")], ...options]}
    />
  );
  return (
    <FilterBar query={query} search={common("search")} names={FILTERS}>
      {choose(
        "status",
        t("column.status"),
        RUN_STATUSES.map((one): [string, string] => [one, statusLabel(one)]),
      )}
      {choose(
        "template",
        t("template"),
        [...titles].sort(([, a], [, b]) => a.localeCompare(b)),
      )}
      {choose("at", t("waitsAt"), useGateNames(query.get("template")))}
      <PersonFilter query={query} label={t("column.whom")} />
      <DateFilter query={query} name="since" label={t("from")} />
      <DateFilter query={query} name="until" label={t("to")} />
    </FilterBar>
  );
}

/** The gates of a template, or of all. */
function useGateNames(template: string): [string, string][] {
  const { value } = useLoad("templates", getTemplates);
  return useMemo(() => {
    const found = (value ?? []).filter((one) => template === "" || one.vertical === template);
    const steps = [...new Set(found.flatMap((one) => one.gates))].sort();
    return steps.map((step): [string, string] => [step, humanize(step)]);
  }, [value, template]);
}
