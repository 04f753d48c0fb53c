/** The open gates by risk and age. */

import type { Report, Tier } from "../../api/types";
import { tierLabel, TIERS } from "../../text/labels";
import { countedLink } from "./days";
import { DataTable, NumberLink } from "./DataTable";
import { dashboard as t } from "../../text/en/dashboard";

const HOUR_MS = 3_600_000;
/** The upper bound of each age in hours. */
const AGES = [
  ["age.hour", 1],
  ["age.day", 24],
  ["age.days3", 72],
  ["age.days7", 168],
  ["age.over", Infinity],
] as const;

export function OpenByAge({ report }: { report: Report }) {
  const { by_age: ages } = report.open;
  if (ages.length === 0) return <p className="muted">{t("noneOpen")}</p>;
  const tiers = TIERS.filter((tier) => ages.some((one) => one.tier === tier));
  return (
    <DataTable
      caption={t("openByAge")}
      head={[t("filter.tier"), ...AGES.map(([name]) => t(name)), t("all")]}
      rows={tiers.map((tier) => [
        tierLabel(tier),
        ...AGES.map(([name], age) => <Cell key={name} report={report} tier={tier} age={age} />),
        <NumberLink
          key="all"
          value={ages.reduce((sum, one) => sum + (one.tier === tier ? one.gates : 0), 0)}
          to={countedLink("gates", { tier })}
        />,
      ])}
    />
  );
}

function Cell({ report, tier, age }: { report: Report; tier: Tier; age: number }) {
  const found = report.open.by_age.find((one) => one.tier === tier && ageOf(one, report) === age);
  if (found === undefined) return <span className="muted">0</span>;
  const query: Record<string, string> = { tier };
  if (found.opened_from !== null) query["opened_from"] = found.opened_from;
  if (found.opened_before !== null) query["opened_before"] = found.opened_before;
  return <NumberLink value={found.gates} to={countedLink("gates", query)} />;
}

/** Which of the ages the service counted these gates by. */
function ageOf(one: Report["open"]["by_age"][number], report: Report): number {
  if (one.opened_from === null) return AGES.length - 1;
  const hours = (Date.parse(report.at) - Date.parse(one.opened_from)) / HOUR_MS;
  return AGES.findIndex(([, most]) => Math.round(hours) <= most);
}
