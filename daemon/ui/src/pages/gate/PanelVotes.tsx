/** What the judges of a step said, and why that was not enough to clear it. */

import type { Panel } from "../../api/types";
import { Text } from "../../components/Text";
import { formatShare } from "../../text/formats";
import { panel as t } from "../../text/en/panel";
import { DataTable } from "../dashboard/DataTable";

export function PanelVotes({ panel }: { panel: Panel }) {
  const { weighed } = panel;
  return (
    <section className="card" aria-label={t("title")}>
      <h2>{t("title")}</h2>
      <p className="gap">
        {t("summary", { clear: panel.clear, all: panel.votes.length, needed: panel.quorum })}{" "}
        {weighed !== null && <Weighed weighed={weighed} />}
      </p>
      <DataTable
        caption={t("title")}
        head={[t("judge"), t("vote"), t("confidence"), t("reason")]}
        rows={panel.votes.map((vote) => [
          vote.label,
          t.code("vote", vote.verdict),
          vote.confidence === null ? "" : formatShare(vote.confidence),
          vote.reason === null ? "" : <Text text={vote.reason} />,
        ])}
      />
    </section>
  );
}

function Weighed({ weighed }: { weighed: NonNullable<Panel["weighed"]> }) {
  const lower = weighed.lower == null ? "?" : formatShare(weighed.lower);
  switch (weighed.why) {
    case "few_cases":
      return t("why.few_cases", { count: weighed.cases ?? 0 });
    case "below_floor":
      return t("why.below_floor", { lower, floor: formatShare(weighed.floor) });
    case "sampled":
      return t("why.sampled");
    case "off":
      return t("why.off");
    default:
      return null;
  }
}
