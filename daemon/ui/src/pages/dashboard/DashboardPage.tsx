/** The dashboard: what is open now, and how people, the autopilot and connectors did. */

import { useEffect } from "react";
import { get, getAll } from "../../api/client";
import type {
  Report,
  ReportClock,
  ReportConnector,
  ReportDay,
  ReportGate,
  ReportPerson,
} from "../../api/types";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Heading } from "../../components/Heading";
import { useRoute } from "../../state/router";
import { useLoad, useTemplateTitles } from "../../state/useLoad";
import { Charts } from "./Charts";
import { countedLink, type Days, daysQuery, lastDays, RANGES, rangeOf } from "./days";
import { formatDay, formatNumber, formatShare, formatSpan } from "./format";
import { OpenByAge } from "./OpenByAge";
import { ClockNumbers, ConnectorNumbers, GateNumbers, PersonNumbers } from "./Tables";
import { dashboard as t } from "../../text/en/dashboard";

const REFRESH_MS = 30_000;
const ROWS_MAX = 1_000;
const DECIDED = { closed: "true", by_kind: "person" };

interface Found {
  days: Days;
  report: Report;
  byDay: ReportDay[];
  gates: ReportGate[];
  people: ReportPerson[];
  clocks: ReportClock[];
  connectors: ReportConnector[];
}

async function load(range: number): Promise<Found> {
  const days = lastDays(range, Date.now());
  const query = daysQuery(days);
  const all = <T,>(list: string) => getAll<T>(`/reports/${list}/?limit=200&${query}`, ROWS_MAX);
  const [report, byDay, gates, people, clocks, connectors] = await Promise.all([
    get<Report>(`/reports/summary?${query}`),
    all<ReportDay>("days"),
    all<ReportGate>("gates"),
    all<ReportPerson>("people"),
    all<ReportClock>("clocks"),
    all<ReportConnector>("connectors"),
  ]);
  return { days, report, byDay, gates, people, clocks, connectors };
}

export function DashboardPage() {
  const range = rangeOf(useRoute().query);
  const { value, problem, reload } = useLoad(`dashboard ${range}`, () => load(range));
  const titles = useTemplateTitles();
  useEffect(() => {
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <>
      <Heading title={t("dashboard")}>
        <nav className="ranges" aria-label={t("daysLabel")}>
          {RANGES.map((days) => (
            <a
              key={days}
              className="button"
              href={`#/dashboard?days=${days}`}
              {...(days === range ? { "aria-current": "true" as const } : {})}
            >
              {t("lastDays", { count: days })}
            </a>
          ))}
        </nav>
      </Heading>
      {value === null ? (
        problem === null ? (
          <Loading rows={6} what={t("loadingNumbers")} />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : (
        <>
          {!value.report.complete && (
            <Note kind="info" title={t("notComplete")}>
              <p>{t("notCompleteHint")}</p>
            </Note>
          )}
          <KeyNumbers found={value} />
          <section className="card">
            <h2>{t("openByAge")}</h2>
            <OpenByAge report={value.report} />
          </section>
          <Charts days={value.days} found={value.byDay} />
          <GateNumbers days={value.days} found={value.gates} titles={titles} />
          <ClockNumbers days={value.days} found={value.clocks} titles={titles} />
          <PersonNumbers days={value.days} found={value.people} />
          <ConnectorNumbers days={value.days} found={value.connectors} />
          <p className="muted small">
            {t("daysInUtc", {
              first: formatDay(value.days.first),
              last: formatDay(value.days.last),
            })}
          </p>
        </>
      )}
    </>
  );
}

function KeyNumbers({ found }: { found: Found }) {
  const { days, report } = found;
  const { open, decisions, steps, calls } = report;
  const decided = countedLink("decisions", daysQuery(days, DECIDED));
  const denied = countedLink("decisions", daysQuery(days, { ...DECIDED, decision: "denied" }));
  return (
    <ul className="key-numbers" aria-label={t("keyNumbers")}>
      <KeyNumber
        name={t("list.gates")}
        value={formatNumber(open.gates)}
        to={countedLink("gates", {})}
      />
      <KeyNumber
        name={t("overdue")}
        value={formatNumber(open.overdue)}
        to={countedLink("gates", { overdue: "true" })}
        bad={open.overdue > 0}
      />
      <KeyNumber
        name={t("decided")}
        value={formatNumber(decisions.decided)}
        to={decided}
        more={decisions.expired > 0 ? t("moreByDeadline", { count: decisions.expired }) : ""}
      />
      <KeyNumber
        name={t("medianTime")}
        value={formatSpan(decisions.median_s)}
        to={decided}
        more={decisions.p90_s === null ? "" : t("nineOfTen", { time: formatSpan(decisions.p90_s) })}
      />
      <KeyNumber
        name={t("shareDenied")}
        value={formatShare(decisions.denied, decisions.decided)}
        to={denied}
        more={t("deniedCount", { count: decisions.denied })}
      />
      <KeyNumber
        name={t("autopilotShare")}
        value={formatShare(steps.autopilot, steps.autopilot + steps.people)}
        to={countedLink("steps", daysQuery(days))}
        more={t("clearedAlone", { count: steps.autopilot })}
      />
      <KeyNumber
        name={t("failingConnectors")}
        value={formatNumber(calls.failing)}
        to={countedLink("connectors", daysQuery(days))}
        more={t("callsFailed", { failed: calls.failed, count: calls.calls })}
        bad={calls.failing > 0}
      />
    </ul>
  );
}

function KeyNumber({
  name,
  value,
  to,
  more = "",
  bad = false,
}: {
  name: string;
  value: string;
  to: string;
  more?: string;
  bad?: boolean;
}) {
  return (
    <li className={bad ? "key-number bad" : "key-number"}>
      <a href={to}>
        <span className="key-name">{name}</span>
        <strong>{value}</strong>
        {more !== "" && <span className="muted small">{more}</span>}
      </a>
    </li>
  );
}
