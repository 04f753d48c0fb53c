/** The open gates that the inbox shows: what the address asks for, kept up to date by events. */

import { useMemo } from "react";
import { get } from "../../api/client";
import type { GateCount, GateRow } from "../../api/types";
import { type CursorList, useCursorList } from "../../state/cursorList";
import { useGateChanges, useGateCount, useGateRows } from "../../state/inbox";
import type { Query } from "../../state/query";
import { useLoad } from "../../state/useLoad";
import { TIERS } from "../../text/labels";
import { type Dues, nearerDue } from "./due";
import { isUnknown } from "./gateCells";

/** So many rows are looked through for the next one. */
const NEXT_OF = 200;
const HOUR_MS = 3_600_000;
/** How long gates wait, and within what time they are due, in milliseconds. */
export const AGES = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS };
export const DUES = { overdue: 0, day: 24 * HOUR_MS, week: 168 * HOUR_MS };
export const ORDERS = ["risk", "urgency", "oldest", "newest"] as const;
export const FILTERS = ["template", "risk", "age", "due", "q", "for"];

export interface InboxList extends CursorList<GateRow> {
  /** How many gates the filters find; null until it is known. */
  total: number | null;
}

export function useInboxList(query: Query): InboxList {
  const { filters, mine } = useFilters(query);
  const order = orderOf(query.get("order"));
  const path = pathOf(order, mine, filters);
  const list = useCursorList<GateRow>(path);
  const all = useGateCount();
  const count = useLoad(`count ${filters}`, () =>
    filters === "" ? Promise.resolve(null) : get<GateCount>(`/gates/count?${filters}`),
  );
  useGateChanges(({ runs }) => {
    if (filters !== "") count.reload();
    if (runs === null || !list.current) list.reload();
    else for (const run of runs) void refresh(list, `${path}&run_id=${run}`, run, order);
  });
  const found = filters === "" ? all : count.value;
  return { ...list, total: found === null ? null : mine ? found.mine : found.open };
}

function pathOf(order: string, mine: boolean, filters: string): string {
  return `/gates/?view=row&order=${order}${mine ? "&mine=true" : ""}${filters}`;
}

/** The filters of the address, as the service has them. */
function useFilters({ text }: Query): { filters: string; mine: boolean } {
  return useMemo(() => filtersOf(new URLSearchParams(text)), [text]);
}

function filtersOf(query: URLSearchParams): { filters: string; mine: boolean } {
  const [template, risk, age, due, q, whom] = FILTERS.map((name) => query.get(name) ?? "") as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const asked = new URLSearchParams();
  if (template !== "") asked.set("vertical", template);
  if (TIERS.some((tier) => tier === risk)) asked.set("tier", risk);
  if (Object.hasOwn(AGES, age)) asked.set("opened_before", after(-AGES[age as keyof typeof AGES]));
  if (Object.hasOwn(DUES, due)) asked.set("due_before", after(DUES[due as keyof typeof DUES]));
  if (q.trim() !== "") asked.set("q", q.trim());
  const [kind = "", name = ""] = whom.split(/:(.*)/s, 2);
  if (kind === "group" || kind === "role") asked.set(kind, name);
  const text = asked.toString();
  return { filters: text === "" ? "" : `&${text}`, mine: whom === "" };
}

function orderOf(order: string | null): (typeof ORDERS)[number] {
  return ORDERS.find((one) => one === order) ?? "risk";
}

/** The gate behind a decided one in the list that it was opened from. */
export function useNextInList(
  list: string,
  decided: { run: string; gate: Place },
): GateRow | undefined {
  const query = useMemo(() => new URLSearchParams(list), [list]);
  const order = orderOf(query.get("order"));
  const address = useMemo(() => {
    const { filters, mine } = filtersOf(query);
    return `order=${order}${mine ? "&mine=true" : ""}${filters}&limit=${NEXT_OF}`;
  }, [query, order]);
  const others = (useGateRows(address) ?? []).filter(
    (row) => row.run_id !== decided.run && row.can_decide,
  );
  return others.find((row) => compare(order, decided.gate, row.gate) <= 0) ?? others[0];
}

function after(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

/** Look at the gates of one run again, and put them where they belong. */
async function refresh(
  list: CursorList<GateRow>,
  path: string,
  run: string,
  order: string,
): Promise<void> {
  const found = await get<GateRow[]>(path).catch(() => null);
  if (found === null) return;
  list.change((rows) => {
    const next = rows.filter((row) => row.run_id !== run);
    for (const row of found) {
      const at = next.findIndex((other) => compare(order, row.gate, other.gate) < 0);
      if (at >= 0) next.splice(at, 0, row);
      else if (!list.more) next.push(row);
    }
    return next;
  });
}

type Place = Pick<GateRow["gate"], "tier" | "opened_at" | "reason"> & Dues;

function compare(order: string, a: Place, b: Place): number {
  // As the service has it: what may have been sent twice stands above all else.
  const unknown = Number(isUnknown(b)) - Number(isUnknown(a));
  if (unknown !== 0) return unknown;
  const age = Date.parse(a.opened_at) - Date.parse(b.opened_at);
  if (order === "oldest") return age;
  if (order === "newest") return -age;
  const risk = TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier) || age;
  return order === "risk" ? risk : dueOf(a) - dueOf(b) || risk;
}

function dueOf(place: Place): number {
  const due = nearerDue(place);
  return due === null ? Number.MAX_SAFE_INTEGER : Date.parse(due.at);
}
