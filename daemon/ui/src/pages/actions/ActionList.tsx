/** The calls of agents, newest first, filtered by the service and live. */

import { useCallback, useMemo } from "react";
import { prettyPrint } from "../../api/json";
import { useEvents, usePeopleChanges } from "../../api/eventStream";
import type { Action } from "../../api/types";
import { StatusWord } from "../../components/Badges";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { Filter } from "../../components/Filter";
import { type TableColumn, VirtualTable } from "../../components/list/VirtualTable";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useCursorList } from "../../state/cursorList";
import { type Query, useQuery } from "../../state/query";
import { linkTo } from "../../state/router";
import { amountOf } from "../../text/identity";
import { RUN_STATUSES, statusLabel } from "../../text/labels";
import { actions as t } from "../../text/en/actions";
import { outcomeText, whyText } from "./words";
import type { RulesLoaded } from "./useRules";

const RELOAD_MS = 400;
const FILTERS = ["agent", "tool", "status", "outcome", "rule"] as const;
const OUTCOMES = ["made", "denied", "expired", "unknown", "expired_unused", "cancelled", "failed"];
const COLUMNS = ["status", "what", "which", "amount", "where", "whom", "since"] as const;

let timer: number | undefined;

export function ActionList({ rules }: { rules: RulesLoaded }) {
  const query = useQuery();
  const asked = FILTERS.map(query.get).join("\n");
  const path = useMemo(() => {
    const given = new URLSearchParams();
    for (const name of FILTERS) if (query.get(name) !== "") given.set(name, query.get(name));
    return `/actions/?${given}`;
  }, [asked]);
  const list = useCursorList<Action>(path);
  const reloadSoon = () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(list.reload, RELOAD_MS);
  };
  useEvents(reloadSoon);
  usePeopleChanges(reloadSoon);
  const cells = useCallback((action: Action) => <ActionCells action={action} />, []);
  const filtered = FILTERS.some((name) => query.get(name) !== "");
  const known = rules.value?.rules.rules.map((rule) => rule.id) ?? [];
  return (
    <>
      <ActionFilters query={query} rows={list.rows} rules={[...known, "unruled"]} />
      {!list.loaded ? (
        list.problem === null ? (
          <Loading rows={8} what={t("loading")} />
        ) : (
          <LoadError problem={list.problem} retry={list.reload} />
        )
      ) : list.rows.length === 0 && list.current ? (
        filtered ? (
          <EmptyState icon="search" title={t("noMatch")}>
            <button type="button" className="button" onClick={query.clear}>
              {t("showAll")}
            </button>
          </EmptyState>
        ) : (
          <EmptyState icon="actions" title={t("none")}>
            <p>{t("noneHint")}</p>
          </EmptyState>
        )
      ) : (
        <VirtualTable
          label={t("actions")}
          className={`runs-table${list.current ? "" : " stale"}`}
          columns={COLUMNS.map((id): TableColumn => ({ id, name: t(`column.${id}`) }))}
          rows={list.rows}
          keyOf={idOf}
          rowClass={(action) => `run-${action.status}`}
          cells={cells}
          total={list.more ? null : list.rows.length}
          more={list.more}
          loadMore={list.loadMore}
        />
      )}
    </>
  );
}

function idOf(action: Action): string {
  return action.id;
}

function ActionFilters({ query, rows, rules }: { query: Query; rows: Action[]; rules: string[] }) {
  const choose = (name: (typeof FILTERS)[number], options: [string, string][]) => (
    <Filter
      label={t(`filter.${name}`)}
      value={query.get(name)}
      onChange={(value) => query.set(name, value)}
      options={[["", t("all")], ...options]}
    />
  );
  const seen = (name: "agent" | "tool"): [string, string][] =>
    [...new Set([query.get(name), ...rows.map((row) => row[name])])]
      .filter((one) => one !== "")
      .sort((a, b) => a.localeCompare(b))
      .map((one) => [one, one]);
  return (
    <div className="filters dense" role="group" aria-label={t("filters")}>
      {choose("agent", seen("agent"))}
      {choose("tool", seen("tool"))}
      {choose(
        "status",
        RUN_STATUSES.map((one): [string, string] => [one, statusLabel(one)]),
      )}
      {choose(
        "outcome",
        OUTCOMES.map((one): [string, string] => [one, outcomeText(one)]),
      )}
      {choose(
        "rule",
        rules.map((one): [string, string] => [one, one === "unruled" ? t("noRule") : one]),
      )}
    </div>
  );
}

/** The page of an action: its gate while one is open, and else its history. */
function pageOf({ id, gate }: Action): string {
  return gate === null ? linkTo("runs", id) : linkTo("runs", id, "gates", gate.step_id);
}

function ActionCells({ action }: { action: Action }) {
  const amount = amountOf(action.arguments);
  const said = prettyPrint(action.arguments).replace(/\s+/g, " ");
  return (
    <>
      <div role="cell" className="cell-status">
        <StatusWord status={action.status} />
      </div>
      <div role="cell" className="cell-what">
        <a className="row-main" href={pageOf(action)}>
          <Label
            text={action.server === null ? action.tool : `${action.server}/${action.tool}`}
            maxLength={120}
          />
        </a>
      </div>
      <div role="cell" className="cell-which">
        <Label text={said} maxLength={200} />
      </div>
      <div role="cell" className="cell-amount" title={amount?.name}>
        {amount?.value}
      </div>
      <div role="cell" className="cell-where">
        <Label text={whereText(action)} maxLength={200} />
      </div>
      <div role="cell" className="cell-whom">
        <Label text={action.agent} maxLength={60} />
      </div>
      <div role="cell" className="cell-since">
        <TimeAgo at={action.created_at} />
      </div>
    </>
  );
}

function whereText({ outcome, decision, rule, why }: Action): string {
  const by = rule.id === "unruled" ? t("noRule") : t(`said.${decision}`, { rule: rule.id });
  const because = why === null || rule.id === "unruled" ? [] : [whyText(why)];
  return [...(outcome === null ? [] : [outcomeText(outcome)]), by, ...because].join(" · ");
}
