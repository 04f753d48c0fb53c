/** The rows that a number of the dashboard counts. */

import { type ReactNode, useState } from "react";
import { type ApiResponse, send, toProblem } from "../../api/client";
import type {
  ReportConnector,
  ReportedClearing,
  ReportedDecision,
  ReportedFailure,
  ReportedGate,
  ReportStep,
} from "../../api/types";
import { DownloadButton } from "../../components/DownloadButton";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { Breadcrumbs, Heading } from "../../components/Heading";
import { PersonName } from "../../components/record/PersonName";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useNames } from "../../state/members";
import { linkTo, useRoute } from "../../state/router";
import { useLoad, useTemplateTitles } from "../../state/useLoad";
import { formatTime, humanize, tierLabel } from "../../text/labels";
import { stepReason } from "../../text/sentences";
import { countedLink, type Days, daysQuery, lastDays } from "./days";
import { DataTable, NumberLink } from "./DataTable";
import { formatDay, formatSpan } from "./format";
import { ConnectorTable } from "./Tables";
import { dashboard as t } from "../../text/en/dashboard";

interface Known {
  titles: Map<string, string>;
  days: Days;
}

interface List {
  path: string;
  show: (rows: never[], known: Known) => ReactNode;
}

const LISTS: Record<string, List> = {
  gates: { path: "/reports/open-gates/", show: showGates },
  decisions: { path: "/reports/decisions/", show: showDecisions },
  cleared: { path: "/reports/cleared-steps/", show: showClearings },
  calls: { path: "/reports/failed-calls/", show: showFailures },
  steps: { path: "/reports/steps/", show: showSteps },
  connectors: { path: "/reports/connectors/", show: showConnectors },
};
const FILTERS = ["by", "decision", "step_id", "tier", "tool_id", "vertical"] as const;

export function CountedPage({ list }: { list: string }) {
  const { query } = useRoute();
  const found = Object.hasOwn(LISTS, list) ? LISTS[list] : undefined;
  const path = `${found?.path ?? "/reports/open-gates/"}?${query}`;
  const page = useLoad(path, () => send<never[]>("GET", path));
  if (found === undefined) return <EmptyState icon="search" title={t("noSuchList")} />;
  return (
    <>
      <Breadcrumbs href="#/dashboard" text={t("dashboard")} />
      <Heading title={t.code("list", list)}>
        <p className="lead">
          <Filters query={query} />
        </p>
      </Heading>
      {page.value === null ? (
        page.problem === null ? (
          <Loading rows={6} what={t("loadingList", { title: t.code("list", list) })} />
        ) : (
          <LoadError problem={page.problem} retry={page.reload} />
        )
      ) : page.value.value.length === 0 && page.value.next === null ? (
        <EmptyState icon="done" title={t("nothingToList")} />
      ) : (
        <Rows key={path} list={list} of={found} first={page.value} />
      )}
    </>
  );
}

function Rows({ list, of, first }: { list: string; of: List; first: ApiResponse<never[]> }) {
  const { query } = useRoute();
  const [rest, setRest] = useState<{ rows: never[]; next: string | null }>({
    rows: [],
    next: first.next,
  });
  const [failed, setFailed] = useState("");
  const today = lastDays(30, Date.now());
  const known: Known = {
    titles: useTemplateTitles(),
    days: {
      first: query.get("first_day") ?? today.first,
      last: query.get("last_day") ?? today.last,
    },
  };
  const { next } = rest;
  const more = () => {
    if (next === null) return;
    setFailed("");
    send<never[]>("GET", next).then(
      (page) => setRest((before) => ({ rows: [...before.rows, ...page.value], next: page.next })),
      (error: unknown) => setFailed(toProblem(error).message),
    );
  };
  return (
    <section className="card">
      {of.show([...first.value, ...rest.rows], known)}
      {failed !== "" && <p role="alert">{failed}</p>}
      <p className="actions">
        {next !== null && (
          <button type="button" className="button" onClick={more}>
            {t("showMore")}
          </button>
        )}{" "}
        <DownloadButton
          path={`${of.path}?${new URLSearchParams([...query, ["format", "csv"]])}`}
          name={`${list}.csv`}
          text={t("downloadCsv")}
        />
      </p>
    </section>
  );
}

/** What the list is narrowed down to. */
function Filters({ query }: { query: URLSearchParams }) {
  const titles = useTemplateTitles();
  const nameOf = useNames();
  return (
    <Label
      text={filterText(query, {
        by: nameOf,
        decision: decisionText,
        step_id: humanize,
        tier: tierLabel,
        tool_id: (tool) => tool,
        vertical: (vertical) => titles.get(vertical) ?? vertical,
      })}
      maxLength={400}
    />
  );
}

/** The same in words: each value as the list says it. */
function filterText(
  query: URLSearchParams,
  sayings: Record<(typeof FILTERS)[number], (value: string) => string>,
): string {
  const said: string[] = [];
  const [first, last] = [query.get("first_day"), query.get("last_day")];
  if (first !== null && last !== null)
    said.push(
      first === last
        ? formatDay(first)
        : t("days", { first: formatDay(first), last: formatDay(last) }),
    );
  for (const name of FILTERS) {
    const value = query.get(name);
    if (value !== null) said.push(`${t(`filter.${name}`)}: ${sayings[name](value)}`);
  }
  const [from, before] = [query.get("opened_from"), query.get("opened_before")];
  if (from !== null) said.push(t("openedSince", { at: formatTime(from) }));
  if (before !== null) said.push(t("openedBefore", { at: formatTime(before) }));
  if (query.get("overdue") === "true") said.push(t("overdueMark"));
  if (query.get("by_kind") === "deadline") said.push(t("byDeadlineMark"));
  return said.join(" · ");
}

function decisionText(decision: string): string {
  return t.code("decided", decision, humanize(decision));
}

function Where({ one, titles }: { one: { vertical: string }; titles: Map<string, string> }) {
  return <Label text={titles.get(one.vertical) ?? one.vertical} maxLength={60} />;
}

function showGates(rows: ReportedGate[], { titles }: Known): ReactNode {
  return (
    <DataTable
      caption={t("list.gates")}
      head={[t("gate"), t("filter.vertical"), t("filter.tier"), t("opened"), t("due")]}
      rows={rows.map((one) => [
        <a key="gate" href={linkTo("runs", one.run_id, "gates", one.step_id)}>
          <Label text={one.label} maxLength={80} />
        </a>,
        <Where key="where" one={one} titles={titles} />,
        tierLabel(one.tier),
        <TimeAgo key="opened" at={one.opened_at} />,
        one.due_at === null ? "–" : <TimeAgo key="due" at={one.due_at} />,
      ])}
    />
  );
}

function showDecisions(rows: ReportedDecision[], { titles }: Known): ReactNode {
  return (
    <DataTable
      caption={t("list.decisions")}
      head={[
        t("gate"),
        t("filter.vertical"),
        t("filter.decision"),
        t("filter.by"),
        t("took"),
        t("at"),
      ]}
      rows={rows.map((one) => [
        <a key="gate" href={linkTo("runs", one.run_id)}>
          <Label text={one.label} maxLength={80} />
        </a>,
        <Where key="where" one={one} titles={titles} />,
        <Label key="decision" text={decisionText(one.decision)} maxLength={40} />,
        <PersonName key="by" by={one.by} kind={one.by_kind} giver={one.on_behalf_of} />,
        formatSpan(one.waited_s),
        <TimeAgo key="at" at={one.at} />,
      ])}
    />
  );
}

function showClearings(rows: ReportedClearing[], { titles }: Known): ReactNode {
  return (
    <DataTable
      caption={t("list.cleared")}
      head={[t("filter.step_id"), t("filter.vertical"), t("why"), t("at")]}
      rows={rows.map((one) => [
        <a key="step" href={linkTo("runs", one.run_id)}>
          <Label text={humanize(one.step_id)} maxLength={80} />
        </a>,
        <Where key="where" one={one} titles={titles} />,
        <Label
          key="why"
          text={one.reason === null ? "–" : stepReason(one.reason)}
          maxLength={160}
        />,
        <TimeAgo key="at" at={one.at} />,
      ])}
    />
  );
}

function showFailures(rows: ReportedFailure[], { titles }: Known): ReactNode {
  return (
    <DataTable
      caption={t("list.calls")}
      head={[
        t("filter.step_id"),
        t("filter.vertical"),
        t("filter.tool_id"),
        t("error"),
        t("status"),
        t("at"),
      ]}
      rows={rows.map((one) => [
        <a key="step" href={linkTo("runs", one.run_id)}>
          <Label text={humanize(one.step_id)} maxLength={80} />
        </a>,
        <Where key="where" one={one} titles={titles} />,
        <a key="tool" href={linkTo("connectors", one.tool_id)}>
          <Label text={one.tool_id} maxLength={60} />
        </a>,
        humanize(one.code),
        one.status_code ?? "–",
        <TimeAgo key="at" at={one.at} />,
      ])}
    />
  );
}

function showSteps(rows: ReportStep[], { titles, days }: Known): ReactNode {
  return (
    <DataTable
      caption={t("list.steps")}
      head={[t("filter.step_id"), t("filter.vertical"), t("byAutopilot"), t("byPeople")]}
      rows={rows.map((one) => {
        const where = { vertical: one.vertical, step_id: one.step_id };
        const people = daysQuery(days, { ...where, closed: "true", by_kind: "person" });
        return [
          <Label key="step" text={humanize(one.step_id)} maxLength={80} />,
          <Where key="where" one={one} titles={titles} />,
          <NumberLink
            key="autopilot"
            value={one.autopilot}
            to={countedLink("cleared", daysQuery(days, where))}
          />,
          <NumberLink key="people" value={one.people} to={countedLink("decisions", people)} />,
        ];
      })}
    />
  );
}

function showConnectors(rows: ReportConnector[], { days }: Known): ReactNode {
  return <ConnectorTable days={days} found={rows} />;
}
