/** The open gates by risk and age. */

import type { Report, Tier } from "../../api/types";
import { humanize, TIERS } from "../../text/labels";
import { countedLink } from "./days";
import { DataTable, NumberLink } from "./DataTable";

const HOUR_MS = 3_600_000;
/** The upper bound of each age in hours. */
const AGES: [string, number][] = [
  ["Under 1 hour", 1],
  ["1 hour to 1 day", 24],
  ["1 to 3 days", 72],
  ["3 to 7 days", 168],
  ["Over 7 days", Infinity],
];

export function OpenByAge({ report }: { report: Report }) {
  const { by_age: ages } = report.open;
  if (ages.length === 0) return <p className="muted">No gate is open.</p>;
  const tiers = TIERS.filter((tier) => ages.some((one) => one.tier === tier));
  return (
    <DataTable
      caption="Open gates by risk and age"
      head={["Risk", ...AGES.map(([name]) => name), "All"]}
      rows={tiers.map((tier) => [
        humanize(tier),
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
