/** The cells of an open gate: what, which one, amount, risk, mode, waiting since, due, for whom. */

import { get } from "../../api/client";
import type { GateRow, OpenGate } from "../../api/types";
import { ModeWord } from "../../components/Badges";
import { DueTime } from "../../components/DueTime";
import { Label } from "../../components/Text";
import { WaitingTime } from "../../components/Time";
import { useNames } from "../../state/members";
import { linkTo } from "../../state/router";
import { useLoad } from "../../state/useLoad";
import { amountOf, identityOf } from "../../text/identity";
import { riskLabel, roleLabel } from "../../text/labels";
import { asked, OUTCOME_UNKNOWN } from "../../text/sentences";
import { nearerDue } from "./due";
import { common } from "../../text/en/common";
import { inbox as t } from "../../text/en/inbox";

export function keyOfGate(row: GateRow): string {
  return `${row.run_id} ${row.gate.step_id} ${row.gate.visit}`;
}

/** The page of a gate that was opened from a list. */
export function gateAddress(row: GateRow, list: string): string {
  const page = linkTo("runs", row.run_id, "gates", row.gate.step_id);
  return list === "" ? page : `${page}?list=${encodeURIComponent(list)}`;
}

/** The inbox with the search and filters that a gate was opened from. */
export function inboxAddress(list: string): string {
  return list === "" ? "#/" : `#/?${list}`;
}

export function GateCells({
  row,
  list,
  selected,
  onToggle,
}: {
  row: GateRow;
  /** The search and filters of the list, to which the gate leads back. */
  list: string;
  selected: boolean;
  onToggle: (row: GateRow) => void;
}) {
  const { gate } = row;
  const which = identityOf(row.business_key, row.inputs);
  const amount = amountOf(row.inputs);
  const about = which?.value ?? row.run_id;
  return (
    <>
      <div role="cell" className="cell-select">
        <input
          type="checkbox"
          checked={selected}
          disabled={!row.can_decide}
          aria-label={t("selectGate", { label: gate.label, about })}
          onChange={() => onToggle(row)}
        />
      </div>
      <div role="cell" className="cell-risk">
        <span className={`dot dot-${gate.tier}`} title={riskLabel(gate.tier)}>
          {riskLabel(gate.tier)}
        </span>
      </div>
      <div role="cell" className="cell-what">
        <a className="row-main" href={gateAddress(row, list)}>
          <Label text={asked(gate)} maxLength={300} />
        </a>
        {isUnknown(row.gate) ? (
          <MaybeSent row={row} />
        ) : (
          <Label
            className="cell-template muted"
            text={gate.question === null ? row.title : `${row.title} · ${gate.label}`}
            maxLength={120}
          />
        )}
      </div>
      <div
        role="cell"
        className="cell-which"
        title={which === null ? t("run") : `${which.name}: ${which.value}`}
      >
        <Label text={about} maxLength={200} />
      </div>
      <div role="cell" className="cell-amount" title={amount?.name}>
        {amount?.value}
      </div>
      <div role="cell" className="cell-marks">
        <GateMarks row={row} />
      </div>
      <div role="cell" className="cell-since">
        <WaitingTime at={gate.opened_at} />
      </div>
      <div role="cell" className="cell-due">
        <NearerDue gate={gate} />
      </div>
      <div role="cell" className="cell-whom">
        <ForWhom row={row} />
      </div>
    </>
  );
}

/** The nearer of the deadline of a gate and of its clock; where there is a clock, which it is. */
function NearerDue({ gate }: { gate: GateRow["gate"] }) {
  const due = nearerDue(gate);
  if (due === null) return null;
  return (
    <>
      <DueTime at={due.at} short />
      {gate.clock_due_at !== null && <span className="muted due-by">{t(`due.by.${due.by}`)}</span>}
    </>
  );
}

/** Whether nobody knows if a call was sent. */
export function isUnknown({ reason }: { reason: string }): boolean {
  return reason === OUTCOME_UNKNOWN;
}

/** What may have been sent, and to whom. */
function MaybeSent({ row }: { row: GateRow }) {
  const { step_id, digest } = row.gate;
  const path = `/process-runs/${row.run_id}/gates/${encodeURIComponent(step_id)}`;
  const { value } = useLoad(`${path} ${digest}`, () => get<OpenGate>(path));
  const call = value?.gate.effect ?? null;
  const to = call === null ? [] : [`${call.method} ${call.url ?? call.tool}`];
  const what = [row.gate.label, ...to, amountOf(row.inputs)?.value ?? ""].filter(Boolean);
  return (
    <Label
      className="cell-template unknown"
      text={t("maybeSent", { call: what.join(" · ") })}
      maxLength={300}
    />
  );
}

function GateMarks({ row }: { row: GateRow }) {
  const { gate } = row;
  return (
    <>
      {isUnknown(row.gate) && <span className="badge state-failed">{t("outcomeUnknown")}</span>}
      {gate.mode !== null && !isUnknown(gate) && <ModeWord mode={gate.mode} />}
      {gate.blocked && <span className="badge state-failed">{t("tooFew")}</span>}
      {gate.verdicts > 0 && (
        <span className="badge">
          {t("decidedOf", { verdicts: gate.verdicts, quorum: gate.quorum })}
        </span>
      )}
      {gate.proposals > 0 && (
        <span className="badge">{common("proposals", { count: gate.proposals })}</span>
      )}
    </>
  );
}

function ForWhom({ row }: { row: GateRow }) {
  const { gate } = row;
  const nameOf = useNames();
  const whom =
    gate.function?.bound === true
      ? gate.function.label
      : gate.groups.length > 0
        ? gate.groups.join(", ")
        : roleLabel(gate.role ?? "manager");
  const also = gate.escalated_to === null ? "" : `, ${roleLabel(gate.escalated_to)}`;
  const label = <Label text={`${whom}${also}`} maxLength={60} />;
  if (row.claimed_by === null) return label;
  return (
    <span title={`${whom}${also}`} className="claimed">
      <Label text={t("looksAtIt", { who: nameOf(row.claimed_by) })} maxLength={60} />
    </span>
  );
}
