/** What the judges of a step said. */

import type { Panel } from "../../api/types";
import { Text } from "../../components/Text";
import { formatShare } from "../../text/formats";
import { panel as t } from "../../text/en/panel";

// What the service says of a rule that flags.
const FAILS = /^The rule (.*) does not hold\.$/s;
const UNCLEAR = /^The rule (.*) has no clear answer: (.*)$/s;

export function PanelVotes({ panel }: { panel: Panel }) {
  return (
    <section className="card" aria-label={t("title")}>
      <h2>{t("title")}</h2>
      <ul className="proposals">
        {panel.votes.map((vote) => (
          <li key={vote.judge}>
            <p>
              <strong>{vote.label}</strong> {t.code("vote", vote.verdict)}
              {vote.confidence !== null &&
                ` (${t("confidence", { share: formatShare(vote.confidence) })})`}
            </p>
            {vote.reason !== null && <Reason text={vote.reason} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Reason({ text }: { text: string }) {
  const [, failed] = FAILS.exec(text) ?? [];
  if (failed !== undefined) return <Rule said={t("ruleFails")} rule={failed} />;
  const [, unclear, why = ""] = UNCLEAR.exec(text) ?? [];
  if (unclear !== undefined) return <Rule said={t("ruleUnclear", { why })} rule={unclear} />;
  return (
    <p className="hint">
      <Text text={text} />
    </p>
  );
}

function Rule({ said, rule }: { said: string; rule: string }) {
  return (
    <details className="hint">
      <summary>{said}</summary>
      <code>{rule}</code>
    </details>
  );
}
