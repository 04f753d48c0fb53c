/** The numbers of gates, people and connectors. */

import type { ReactNode } from "react";
import type { ReportClock, ReportConnector, ReportGate, ReportPerson } from "../../api/types";
import { DueTime } from "../../components/DueTime";
import { DownloadButton } from "../../components/DownloadButton";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useNames } from "../../state/members";
import { linkTo } from "../../state/router";
import { spanText } from "../../text/clocks";
import { humanize } from "../../text/labels";
import { countedLink, daysQuery, type Days } from "./days";
import { DataTable, NumberLink } from "./DataTable";
import { formatNumber, formatShare, formatSpan } from "./format";
import { dashboard as t } from "../../text/en/dashboard";

const DECIDED = { closed: "true", by_kind: "person" };

function Numbers({
  title,
  list,
  days,
  empty,
  children,
}: {
  title: string;
  list: string;
  days: Days;
  empty: string;
  children: ReactNode;
}) {
  return (
    <section className="card">
      <h2>{title}</h2>
      {children ?? <p className="muted">{empty}</p>}
      <p>
        <DownloadButton
          path={`/reports/${list}/?format=csv&${daysQuery(days)}`}
          name={`${list}.csv`}
          text={t("downloadCsv")}
        />
      </p>
    </section>
  );
}

export function GateNumbers({
  days,
  found,
  titles,
}: {
  days: Days;
  found: ReportGate[];
  titles: Map<string, string>;
}) {
  return (
    <Numbers title={t("byGate")} list="gates" days={days} empty={t("noGates")}>
      {found.length > 0 && (
        <DataTable
          caption={t("byGate")}
          head={[
            t("gate"),
            t("open"),
            t("overdue"),
            t("decided"),
            t("denied"),
            t("shareDenied"),
            t("byDeadline"),
            t("median"),
            t("nineOfTenWithin"),
          ]}
          rows={found.map((one) => {
            const where = { vertical: one.vertical, step_id: one.step_id };
            const decided = countedLink("decisions", daysQuery(days, { ...DECIDED, ...where }));
            const denied = daysQuery(days, { ...DECIDED, ...where, decision: "denied" });
            const expired = daysQuery(days, { by_kind: "deadline", ...where });
            return [
              <span key="gate">
                <Label text={one.label} maxLength={80} />
                <br />
                <span className="muted small">
                  <Label text={titles.get(one.vertical) ?? one.vertical} maxLength={80} />
                </span>
              </span>,
              <NumberLink key="open" value={one.open} to={countedLink("gates", where)} />,
              <NumberLink
                key="overdue"
                value={one.overdue}
                to={countedLink("gates", { ...where, overdue: "true" })}
              />,
              <NumberLink key="decided" value={one.decided} to={decided} />,
              <NumberLink key="denied" value={one.denied} to={countedLink("decisions", denied)} />,
              <Linked key="share" when={one.decided > 0} to={countedLink("decisions", denied)}>
                {formatShare(one.denied, one.decided)}
              </Linked>,
              <NumberLink
                key="expired"
                value={one.expired}
                to={countedLink("decisions", expired)}
              />,
              <Linked key="median" when={one.decided > 0} to={decided}>
                {formatSpan(one.median_s)}
              </Linked>,
              <Linked key="p90" when={one.decided > 0} to={decided}>
                {formatSpan(one.p90_s)}
              </Linked>,
            ];
          })}
        />
      )}
    </Numbers>
  );
}

/** How the clocks of the law were kept, and how near it was; those that go on as they are now. */
export function ClockNumbers({
  days,
  found,
  titles,
}: {
  days: Days;
  found: ReportClock[];
  titles: Map<string, string>;
}) {
  return (
    <Numbers title={t("byClock")} list="clocks" days={days} empty={t("noClocks")}>
      {found.length > 0 && (
        <DataTable
          caption={t("byClock")}
          head={[
            t("clock"),
            t("open"),
            t("overdue"),
            t("nextDue"),
            t("kept"),
            t("breached"),
            t("endedWithout"),
            t("shareKept"),
            t("medianLeft"),
            t("leastLeft"),
            t("mostLate"),
          ]}
          rows={found.map((one) => [
            <span key="clock">
              <Label text={one.label} maxLength={80} />
              <br />
              <span className="muted small">
                <Label text={titles.get(one.vertical) ?? one.vertical} maxLength={80} />
              </span>
            </span>,
            formatNumber(one.open),
            <Bad key="overdue" count={one.overdue} />,
            one.next_due_at === null ? "–" : <DueTime key="next" at={one.next_due_at} />,
            formatNumber(one.kept),
            <Bad key="breached" count={one.breached} />,
            formatNumber(one.ended),
            formatShare(one.kept, one.kept + one.breached),
            clockSpan(one.median_left_s),
            clockSpan(one.least_left_s),
            clockSpan(one.most_late_s),
          ])}
        />
      )}
    </Numbers>
  );
}

function Bad({ count }: { count: number }) {
  if (count === 0) return <span className="muted">0</span>;
  return <span className="due overdue">{formatNumber(count)}</span>;
}

function clockSpan(seconds: number | null): string {
  return seconds === null ? "–" : spanText(seconds, true);
}

export function PersonNumbers({ days, found }: { days: Days; found: ReportPerson[] }) {
  const nameOf = useNames();
  return (
    <Numbers title={t("byPerson")} list="people" days={days} empty={t("nobodyDecided")}>
      {found.length > 0 && (
        <DataTable
          caption={t("byPerson")}
          head={[
            t("person"),
            t("verdicts"),
            t("denied"),
            t("shareDenied"),
            t("median"),
            t("nineOfTenWithin"),
            t("last"),
          ]}
          rows={found.map((one) => {
            const given = countedLink(
              "decisions",
              daysQuery(days, { by: one.by, by_kind: "person" }),
            );
            const denied = countedLink(
              "decisions",
              daysQuery(days, { by: one.by, by_kind: "person", decision: "denied" }),
            );
            return [
              <Label key="by" text={nameOf(one.by)} maxLength={60} />,
              <NumberLink key="verdicts" value={one.verdicts} to={given} />,
              <NumberLink key="denied" value={one.denied} to={denied} />,
              <a key="share" href={denied}>
                {formatShare(one.denied, one.verdicts)}
              </a>,
              <a key="median" href={given}>
                {formatSpan(one.median_s)}
              </a>,
              <a key="p90" href={given}>
                {formatSpan(one.p90_s)}
              </a>,
              <TimeAgo key="last" at={one.last_at} />,
            ];
          })}
        />
      )}
    </Numbers>
  );
}

export function ConnectorNumbers({ days, found }: { days: Days; found: ReportConnector[] }) {
  return (
    <Numbers title={t("list.connectors")} list="connectors" days={days} empty={t("noCalls")}>
      {found.length > 0 && <ConnectorTable days={days} found={found} />}
    </Numbers>
  );
}

export function ConnectorTable({ days, found }: { days: Days; found: ReportConnector[] }) {
  return (
    <DataTable
      caption={t("list.connectors")}
      head={[
        t("filter.tool_id"),
        t("state"),
        t("calls"),
        t("failed"),
        t("shareFailed"),
        t("lastCall"),
      ]}
      rows={found.map((one) => {
        const failed = countedLink("calls", daysQuery(days, { tool_id: one.tool_id }));
        return [
          <a key="tool" href={linkTo("connectors", one.tool_id)}>
            <Label text={one.tool_id} maxLength={60} />
          </a>,
          <span key="state" className={`badge state-${one.failing ? "failed" : "done"}`}>
            {one.failing ? t("failing", { error: humanize(one.last_error ?? "") }) : t("working")}
          </span>,
          <NumberLink key="calls" value={one.calls} to={linkTo("connectors", one.tool_id)} />,
          <NumberLink key="failed" value={one.failed} to={failed} />,
          <Linked key="share" when={one.failed > 0} to={failed}>
            {formatShare(one.failed, one.calls)}
          </Linked>,
          <TimeAgo key="last" at={one.last_at} />,
        ];
      })}
    />
  );
}

function Linked({ when, to, children }: { when: boolean; to: string; children: ReactNode }) {
  return when ? <a href={to}>{children}</a> : <span className="muted">{children}</span>;
}
