/** The list of runs, newest first, searched and filtered by the service. */

import { useCallback } from "react";
import type { RunRow } from "../../api/types";
import { useEvents, usePeopleChanges } from "../../api/eventStream";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { Heading } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { SavedViews } from "../../components/list/SavedViews";
import { ShortcutHelp } from "../../components/list/ShortcutHelp";
import { type TableColumn, VirtualTable } from "../../components/list/VirtualTable";
import { type CursorList, useCursorList } from "../../state/cursorList";
import { useQuery } from "../../state/query";
import { useTemplateTitles } from "../../state/useLoad";
import { FILTERS, RunFilters, useRunPath } from "./RunFilters";
import { keyOfRun, RunCells } from "./runCells";
import { runs as t } from "../../text/en/runs";

const RELOAD_MS = 400;
const STATUS_EVENTS = new Set(["run_started", "run_ended", "gate_opened", "verdict_given"]);
const COLUMNS = ["status", "what", "which", "amount", "where", "whom", "since"] as const;

let timer: number | undefined;

export function RunsPage() {
  const query = useQuery();
  const titles = useTemplateTitles();
  const list = useCursorList<RunRow>(useRunPath(query));
  const filtered = FILTERS.some((name) => query.get(name) !== "");
  const reloadSoon = () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(list.reload, RELOAD_MS);
  };
  useEvents((events) => {
    if (events.length === 0 || events.some((event) => STATUS_EVENTS.has(event.event.type)))
      reloadSoon();
  });
  usePeopleChanges(reloadSoon);
  return (
    <>
      <Heading title={t("runs")}>
        <a className="button primary" href="#/templates">
          <Icon name="plus" /> {t("startRun")}
        </a>
      </Heading>
      <RunFilters query={query} titles={titles} />
      <div className="list-tools">
        <SavedViews list="runs" base="#/runs" query={query.text} />
        <ShortcutHelp selects={false} />
      </div>
      <Rows list={list} titles={titles} filtered={filtered} onClear={query.clear} />
    </>
  );
}

function Rows({
  list,
  titles,
  filtered,
  onClear,
}: {
  list: CursorList<RunRow>;
  titles: Map<string, string>;
  filtered: boolean;
  onClear: () => void;
}) {
  const cells = useCallback(
    (run: RunRow) => <RunCells run={run} title={titles.get(run.vertical) ?? run.vertical} />,
    [titles],
  );
  if (!list.loaded)
    return list.problem === null ? (
      <Loading rows={8} what={t("loading")} />
    ) : (
      <LoadError problem={list.problem} retry={list.reload} />
    );
  if (list.rows.length === 0 && list.current)
    return filtered ? (
      <EmptyState icon="search" title={t("noMatch")}>
        <button type="button" className="button" onClick={onClear}>
          {t("showAll")}
        </button>
      </EmptyState>
    ) : (
      <EmptyState icon="runs" title={t("noRuns")}>
        <p>{t("startOne")}</p>
        <a className="button primary" href="#/templates">
          {t("chooseTemplate")}
        </a>
      </EmptyState>
    );
  return (
    <VirtualTable
      label={t("runs")}
      className={`runs-table${list.current ? "" : " stale"}`}
      columns={COLUMNS.map((id): TableColumn => ({ id, name: t(`column.${id}`) }))}
      rows={list.rows}
      keyOf={keyOfRun}
      rowClass={(run) => `run-${run.status}`}
      cells={cells}
      total={list.more ? null : list.rows.length}
      more={list.more}
      loadMore={list.loadMore}
    />
  );
}
