/** The inbox: a table of the open gates, searched, filtered and ordered by the service. */

import { useCallback, useMemo, useState } from "react";
import type { GateRow } from "../../api/types";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { Heading } from "../../components/Heading";
import { SavedViews } from "../../components/list/SavedViews";
import { ShortcutHelp } from "../../components/list/ShortcutHelp";
import { type TableColumn, VirtualTable } from "../../components/list/VirtualTable";
import { useGateCount } from "../../state/inbox";
import { useQuery } from "../../state/query";
import { useTemplateTitles } from "../../state/useLoad";
import { Batch } from "./Batch";
import { EmptyInbox } from "./FirstSteps";
import { GateCells, keyOfGate } from "./gateCells";
import { InboxFilters } from "./InboxFilters";
import { FILTERS, useInboxList } from "./useInbox";
import { inbox as t } from "../../text/en/inbox";

const COLUMNS = ["risk", "what", "which", "amount", "marks", "since", "due", "whom"] as const;

export function InboxPage() {
  const query = useQuery();
  const titles = useTemplateTitles();
  const list = useInboxList(query);
  const filtered = FILTERS.some((name) => query.get(name) !== "");
  return (
    <>
      <Heading title={t("inbox")}>
        <Lead />
      </Heading>
      {list.loaded && list.current && list.rows.length === 0 && !filtered ? (
        <>
          <SavedViews list="inbox" base="#/" query={query.text} />
          <EmptyInbox />
        </>
      ) : (
        <>
          <InboxFilters query={query} titles={titles} />
          <div className="list-tools">
            <SavedViews list="inbox" base="#/" query={query.text} />
            <p className="muted small" role="status">
              {filtered && list.total !== null && t("gatesFound", { count: list.total })}
            </p>
            <ShortcutHelp selects />
          </div>
          <Rows list={list} query={query.text} onClear={query.clear} />
        </>
      )}
    </>
  );
}

/** How many gates wait for the reader and for others. */
function Lead() {
  const count = useGateCount();
  if (count === null) return <p className="lead">{t("lead")}</p>;
  const others = count.open - count.mine;
  return (
    <p className="lead">
      {count.mine === 0
        ? others > 0
          ? t("noneButOthers", { count: others })
          : t("noneWaits")
        : others > 0
          ? t("mineAndOthers", { count: count.mine, others })
          : t("mineWait", { count: count.mine })}
    </p>
  );
}

function Rows({
  list,
  query,
  onClear,
}: {
  list: ReturnType<typeof useInboxList>;
  query: string;
  onClear: () => void;
}) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback((row: GateRow) => {
    if (!row.can_decide) return;
    setSelected((before) => {
      const next = new Set(before);
      if (!next.delete(keyOfGate(row))) next.add(keyOfGate(row));
      return next;
    });
  }, []);
  const chosen = useMemo(
    () => list.rows.filter((row) => selected.has(keyOfGate(row))),
    [list.rows, selected],
  );
  const cells = useCallback(
    (row: GateRow) => (
      <GateCells row={row} list={query} selected={selected.has(keyOfGate(row))} onToggle={toggle} />
    ),
    [query, selected, toggle],
  );
  if (!list.loaded)
    return list.problem === null ? (
      <Loading rows={8} what={t("loading")} />
    ) : (
      <LoadError problem={list.problem} retry={list.reload} />
    );
  if (list.rows.length === 0 && list.current)
    return (
      <EmptyState icon="search" title={t("noMatch")}>
        <button type="button" className="button" onClick={onClear}>
          {t("showAll")}
        </button>
      </EmptyState>
    );
  return (
    <>
      <Batch rows={chosen} onClear={() => setSelected(new Set())} onDone={list.reload} />
      <VirtualTable
        label={t("waitingForDecision")}
        className={`inbox-table${list.current ? "" : " stale"}`}
        columns={[
          { id: "select", name: <SelectLoaded rows={list.rows} {...{ selected, setSelected }} /> },
          ...COLUMNS.map((id): TableColumn => ({ id, name: t(`column.${id}`) })),
        ]}
        rows={list.rows}
        keyOf={keyOfGate}
        rowClass={(row) => `row-${row.gate.tier}`}
        cells={cells}
        total={list.total}
        more={list.more}
        loadMore={list.loadMore}
        isSelected={(row) => selected.has(keyOfGate(row))}
        onToggle={toggle}
      />
    </>
  );
}

/** Selects all rows that are loaded, or none. */
function SelectLoaded({
  rows,
  selected,
  setSelected,
}: {
  rows: GateRow[];
  selected: ReadonlySet<string>;
  setSelected: (next: ReadonlySet<string>) => void;
}) {
  const able = rows.filter((row) => row.can_decide).map(keyOfGate);
  const all = able.length > 0 && able.every((key) => selected.has(key));
  return (
    <input
      type="checkbox"
      aria-label={t("selectLoaded", { count: able.length })}
      checked={all}
      disabled={able.length === 0}
      onChange={() => setSelected(all ? new Set() : new Set(able))}
    />
  );
}
