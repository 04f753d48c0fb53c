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
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useNames } from "../../state/members";
import { linkTo, useRoute } from "../../state/router";
import { useLoad, useTemplateTitles } from "../../state/useLoad";
import { formatTime, humanize } from "../../text/labels";
import { countedLink, type Days, daysQuery, lastDays } from "./days";
import { DataTable, NumberLink } from "./DataTable";
import { formatDay, formatSpan } from "./format";
import { ConnectorTable } from "./Tables";

interface Known {
  titles: Map<string, string>;
  nameOf: (by: string) => string;
  days: Days;
}

interface List {
  title: string;
  path: string;
  show: (rows: never[], known: Known) => ReactNode;
}

const LISTS: Record<string, List> = {
  gates: { title: "Open gates", path: "/reports/open-gates/", show: showGates },
  decisions: { title: "Decisions", path: "/reports/decisions/", show: showDecisions },
  cleared: {
    title: "Steps cleared by the autopilot",
    path: "/reports/cleared-steps/",
    show: showClearings,
  },
  calls: { title: "Failed calls", path: "/reports/failed-calls/", show: showFailures },
  steps: { title: "Steps cleared", path: "/reports/steps/", show: showSteps },
  connectors: { title: "Connectors", path: "/reports/connectors/", show: showConnectors },
};
const FILTER_LABELS: Record<string, string> = {
  by: "By",
  decision: "Decision",
  step_id: "Step",
  tier: "Risk",
  tool_id: "Connector",
  vertical: "Template",
};

export function CountedPage({ list }: { list: string }) {
  const { query } = useRoute();
  const found = Object.hasOwn(LISTS, list) ? LISTS[list] : undefined;
  const path = `${found?.path ?? "/reports/open-gates/"}?${query}`;
  const page = useLoad(path, () => send<never[]>("GET", path));
  if (found === undefined)
    return <EmptyState icon="search" title="There is no such list of numbers" />;
  return (
    <>
      <Breadcrumbs href="#/dashboard" text="Dashboard" />
      <Heading title={found.title}>
        <p className="lead">{filterText(query)}</p>
      </Heading>
      {page.value === null ? (
        page.problem === null ? (
          <Loading rows={6} what={`Loading: ${found.title}`} />
        ) : (
          <LoadError problem={page.problem} retry={page.reload} />
        )
      ) : page.value.value.length === 0 && page.value.next === null ? (
        <EmptyState icon="done" title="There is nothing to list" />
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
    nameOf: useNames(),
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
            Show more
          </button>
        )}{" "}
        <DownloadButton
          path={`${of.path}?${new URLSearchParams([...query, ["format", "csv"]])}`}
          name={`${list}.csv`}
          text="Download CSV"
        />
      </p>
    </section>
  );
}

/** What the list is narrowed down to, in words. */
function filterText(query: URLSearchParams): string {
  const said: string[] = [];
  const [first, last] = [query.get("first_day"), query.get("last_day")];
  if (first !== null && last !== null)
    said.push(first === last ? formatDay(first) : `${formatDay(first)} to ${formatDay(last)}`);
  for (const [name, label] of Object.entries(FILTER_LABELS)) {
    const value = query.get(name);
    if (value !== null) said.push(`${label}: ${value}`);
  }
  const [from, before] = [query.get("opened_from"), query.get("opened_before")];
  if (from !== null) said.push(`opened since ${formatTime(from)}`);
  if (before !== null) said.push(`opened before ${formatTime(before)}`);
  if (query.get("overdue") === "true") said.push("overdue");
  if (query.get("by_kind") === "deadline") said.push("by deadline");
  return said.join(" · ");
}

function Where({ one, titles }: { one: { vertical: string }; titles: Map<string, string> }) {
  return <Label text={titles.get(one.vertical) ?? one.vertical} maxLength={60} />;
}

function showGates(rows: ReportedGate[], { titles }: Known): ReactNode {
  return (
    <DataTable
      caption="Open gates"
      head={["Gate", "Template", "Risk", "Opened", "Due"]}
      rows={rows.map((one) => [
        <a key="gate" href={linkTo("runs", one.run_id, "gates", one.step_id)}>
          <Label text={one.label} maxLength={80} />
        </a>,
        <Where key="where" one={one} titles={titles} />,
        humanize(one.tier),
        <TimeAgo key="opened" at={one.opened_at} />,
        one.due_at === null ? "–" : <TimeAgo key="due" at={one.due_at} />,
      ])}
    />
  );
}

function showDecisions(rows: ReportedDecision[], { titles, nameOf }: Known): ReactNode {
  return (
    <DataTable
      caption="Decisions"
      head={["Gate", "Template", "Decision", "By", "Took", "At"]}
      rows={rows.map((one) => [
        <a key="gate" href={linkTo("runs", one.run_id)}>
          <Label text={one.label} maxLength={80} />
        </a>,
        <Where key="where" one={one} titles={titles} />,
        <Label key="decision" text={humanize(one.decision)} maxLength={40} />,
        <Label
          key="by"
          text={one.by_kind === "person" ? nameOf(one.by) : "Deadline"}
          maxLength={60}
        />,
        formatSpan(one.waited_s),
        <TimeAgo key="at" at={one.at} />,
      ])}
    />
  );
}

function showClearings(rows: ReportedClearing[], { titles }: Known): ReactNode {
  return (
    <DataTable
      caption="Steps cleared by the autopilot"
      head={["Step", "Template", "Why", "At"]}
      rows={rows.map((one) => [
        <a key="step" href={linkTo("runs", one.run_id)}>
          <Label text={humanize(one.step_id)} maxLength={80} />
        </a>,
        <Where key="where" one={one} titles={titles} />,
        <Label key="why" text={one.reason ?? "–"} maxLength={160} />,
        <TimeAgo key="at" at={one.at} />,
      ])}
    />
  );
}

function showFailures(rows: ReportedFailure[], { titles }: Known): ReactNode {
  return (
    <DataTable
      caption="Failed calls"
      head={["Step", "Template", "Connector", "Error", "Status", "At"]}
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
      caption="Steps cleared"
      head={["Step", "Template", "By the autopilot", "By people"]}
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
