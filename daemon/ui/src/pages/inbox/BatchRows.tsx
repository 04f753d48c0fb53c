/** The gates of a batch by process, each with what it asks, its amount and its calls. */

import type { PlannedCall } from "../../api/types";
import { ModeWord } from "../../components/Badges";
import { Label, Text } from "../../components/Text";
import { useNames } from "../../state/members";
import { useAccount } from "../../state/session";
import { identityOf, sumsOf } from "../../text/identity";
import { riskLabel } from "../../text/labels";
import { asked } from "../../text/sentences";
import { type BatchDecision, type BatchItem, keyOfItem } from "./batchVerdicts";
import { inbox as t } from "../../text/en/inbox";

export function BatchGroups({ items, decision }: { items: BatchItem[]; decision: BatchDecision }) {
  const titles = [...new Set(items.map(({ row }) => row.title))];
  const groups = titles.map((title) => ({
    title,
    group: items.filter(({ row }) => row.title === title),
  }));
  return groups.map(({ title, group }) => (
    <section key={title}>
      <h3>
        <Label text={title} maxLength={120} />
      </h3>
      <p className="muted small">{summary(group, decision)}</p>
      <ul className="batch-list">
        {group.map((item) => (
          <BatchRow key={keyOfItem(item.row)} item={item} decision={decision} />
        ))}
      </ul>
    </section>
  ));
}

/** “2 gates · $1,250.50 · 2 live calls · 1 dry run”. */
function summary(items: BatchItem[], decision: BatchDecision): string {
  const amounts = items.flatMap(({ amount }) => (amount === null ? [] : [amount]));
  const calls = items.flatMap((item) => callsOf(item, decision));
  const live = calls.filter((call) => call.mode === "live").length;
  const handed = calls.filter((call) => call.mode === "handed").length;
  const dry = calls.length - live - handed;
  return [
    t("gatesCount", { count: items.length }),
    ...(amounts.length === 0 ? [] : [t("sum", { sums: sumsOf(amounts).join(" + ") })]),
    ...(live === 0 ? [] : [t("liveCalls", { count: live })]),
    ...(handed === 0 ? [] : [t("handedCalls", { count: handed })]),
    ...(dry === 0 ? [] : [t("dryCalls", { count: dry })]),
    ...(calls.length === 0 ? [t("noCalls")] : []),
  ].join(" · ");
}

function callsOf({ open }: BatchItem, decision: BatchDecision): PlannedCall[] {
  return open.gate.effects.filter((call) => call.decisions.includes(decision));
}

function BatchRow({ item, decision }: { item: BatchItem; decision: BatchDecision }) {
  const { row, open, amount } = item;
  const { user } = useAccount();
  const nameOf = useNames();
  const which = identityOf(row.business_key, row.inputs)?.value ?? row.run_id;
  const by = row.claimed_by;
  return (
    <li>
      <p>
        <span className={`dot dot-${row.gate.tier}`} title={riskLabel(row.gate.tier)} />{" "}
        <strong>
          <Label text={which} maxLength={200} />
        </strong>{" "}
        <Label text={asked(open.gate)} maxLength={300} />
        {amount !== null && ` · ${amount.value}`}
        {by !== null && by !== user.email && (
          <strong className="claimed"> · {t("looksAtIt", { who: nameOf(by) })}</strong>
        )}
      </p>
      {callsOf(item, decision).map((call) => (
        <p key={call.step_id} className="small">
          <ModeWord mode={call.mode} /> <Label text={call.label} maxLength={120} />{" "}
          {call.connector !== null && (
            <code className="url">
              {call.connector.method} <Text text={call.connector.origin + call.connector.path} />
            </code>
          )}
        </p>
      ))}
      <span className="seen-mark" data-key={keyOfItem(row)} />
    </li>
  );
}
