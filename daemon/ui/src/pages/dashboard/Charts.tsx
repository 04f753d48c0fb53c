/** What happened day by day: decisions, how long they took, and who cleared steps. */

import { useMemo } from "react";
import type { ReportDay } from "../../api/types";
import { Chart } from "./Chart";
import { countedLink, daysQuery, eachDay, type Days } from "./days";
import { formatDay, formatNumber, formatSpan } from "./format";
import { DataTable, NumberLink } from "./DataTable";
import { dashboard as t } from "../../text/en/dashboard";

const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];
const COUNTS = [1, 2, 5]
  .flatMap((one) => [1, 10, 100, 1_000, 10_000, 100_000].map((by) => one * by))
  .sort((a, b) => a - b);
const SPANS = [
  ...[1, 5, 15, 30],
  ...[1, 5, 15, 30].map((one) => one * MINUTE),
  ...[1, 2, 4, 6, 12].map((one) => one * HOUR),
  ...[1, 2, 5, 10, 20, 50].map((one) => one * DAY),
];
const DECIDED = { closed: "true", by_kind: "person" };

export function Charts({ days, found }: { days: Days; found: ReportDay[] }) {
  const { first, last } = days;
  const drawn = useMemo(() => {
    const every = eachDay({ first, last });
    const byDay = new Map(found.map((one) => [one.day, one]));
    const of = (value: (one: ReportDay) => number | null) =>
      every.map((day) => {
        const one = byDay.get(day);
        return one === undefined ? null : value(one);
      });
    return {
      every,
      decisions: [
        {
          name: t("decided"),
          colour: "accent",
          shape: "bars" as const,
          values: of((one) => one.decided),
        },
        {
          name: t("denied"),
          colour: "bad",
          shape: "bars" as const,
          values: of((one) => one.denied),
        },
      ],
      times: [
        { name: t("median"), colour: "accent", values: of((one) => one.median_s) },
        { name: t("nineOfTenLabel"), colour: "violet", values: of((one) => one.p90_s) },
      ],
      steps: [
        {
          name: t("autopilotAndPeople"),
          colour: "good",
          shape: "bars" as const,
          values: of((one) => one.autopilot + one.decided),
        },
        {
          name: t("people"),
          colour: "accent",
          shape: "bars" as const,
          values: of((one) => one.decided),
        },
      ],
    };
  }, [first, last, found]);
  const on = (one: ReportDay, more: Record<string, string>) =>
    countedLink("decisions", daysQuery({ first: one.day, last: one.day }, more));
  return (
    <div className="charts">
      <Chart
        title={t("decisionsADay")}
        days={drawn.every}
        series={drawn.decisions}
        format={formatNumber}
        steps={COUNTS}
      >
        <DataTable
          caption={t("decisionsADay")}
          head={[t("day"), t("decided"), t("denied"), t("byDeadline")]}
          rows={found.map((one) => [
            formatDay(one.day),
            <NumberLink key="decided" value={one.decided} to={on(one, DECIDED)} />,
            <NumberLink
              key="denied"
              value={one.denied}
              to={on(one, { ...DECIDED, decision: "denied" })}
            />,
            <NumberLink key="expired" value={one.expired} to={on(one, { by_kind: "deadline" })} />,
          ])}
        />
      </Chart>
      <Chart
        title={t("timeToDecision")}
        days={drawn.every}
        series={drawn.times}
        format={formatSpan}
        steps={SPANS}
      >
        <DataTable
          caption={t("timeToDecision")}
          head={[t("day"), t("median"), t("nineOfTenWithin")]}
          rows={found
            .filter((one) => one.decided > 0)
            .map((one) => [
              formatDay(one.day),
              <a key="median" href={on(one, DECIDED)}>
                {formatSpan(one.median_s)}
              </a>,
              <a key="p90" href={on(one, DECIDED)}>
                {formatSpan(one.p90_s)}
              </a>,
            ])}
        />
      </Chart>
      <Chart
        title={t("clearedADay")}
        days={drawn.every}
        series={drawn.steps}
        format={formatNumber}
        steps={COUNTS}
      >
        <DataTable
          caption={t("clearedADay")}
          head={[t("day"), t("byAutopilot"), t("byPeople")]}
          rows={found.map((one) => [
            formatDay(one.day),
            <NumberLink
              key="autopilot"
              value={one.autopilot}
              to={countedLink("cleared", daysQuery({ first: one.day, last: one.day }))}
            />,
            <NumberLink key="people" value={one.decided} to={on(one, DECIDED)} />,
          ])}
        />
      </Chart>
    </div>
  );
}
