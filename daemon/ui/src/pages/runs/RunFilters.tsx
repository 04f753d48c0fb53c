/** The search and the filters of the runs. */

import { useMemo, useState } from "react";
import { getCanvas, getTemplates } from "../../api/resources";
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
  const [near, setNear] = useState(query.get("at") !== "");
  const gates = useGateNames(query.get("template"), near);
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
      <Filter
        label={t("waitsAt")}
        value={query.get("at")}
        onChange={(value) => query.set("at", value)}
        options={[["", t("all")], ...gates]}
        onNear={() => setNear(true)}
      />
      <PersonFilter query={query} label={t("column.whom")} />
      <DateFilter query={query} name="since" label={t("from")} />
      <DateFilter query={query} name="until" label={t("to")} />
    </FilterBar>
  );
}

/** The gates of a template, or of all. Their labels are loaded once somebody is about to choose. */
function useGateNames(template: string, near: boolean): [string, string][] {
  const { value } = useLoad("templates", getTemplates);
  const found = (value ?? []).filter((one) => template === "" || one.vertical === template);
  const wanted = near ? found.map((one) => one.vertical).join(" ") : "";
  const { value: labels } = useLoad(`gates of ${wanted}`, () =>
    labelsOf(wanted === "" ? [] : wanted.split(" ")),
  );
  const steps = [...new Set(found.flatMap((one) => one.gates))];
  return steps
    .map((step): [string, string] => [step, labels?.get(step) ?? humanize(step)])
    .sort(([, a], [, b]) => a.localeCompare(b));
}

/** What templates call their steps; an id of several has the labels of the first two. */
async function labelsOf(verticals: string[]): Promise<Map<string, string>> {
  const canvases = await Promise.all(verticals.map((one) => getCanvas(one)));
  const found = new Map<string, Set<string>>();
  for (const { id, label } of canvases.flatMap((canvas) => canvas.nodes))
    found.set(id, (found.get(id) ?? new Set()).add(label));
  return new Map([...found].map(([id, all]) => [id, [...all].slice(0, 2).join(" / ")]));
}
