/** The cells of an open gate: what, which one, amount, risk, mode, waiting since, due, for whom. */

import type { GateRow } from "../../api/types";
import { ModeWord } from "../../components/Badges";
import { DueTime } from "../../components/DueTime";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { linkTo } from "../../state/router";
import { amountOf, identityOf } from "../../text/identity";
import { asked, riskLabel, roleLabel } from "../../text/labels";
import { common } from "../../text/en/common";
import { inbox as t } from "../../text/en/inbox";

export function keyOfGate(row: GateRow): string {
  return `${row.run_id} ${row.gate.step_id} ${row.gate.visit}`;
}

export function GateCells({
  row,
  selected,
  onToggle,
}: {
  row: GateRow;
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
        <a className="row-main" href={linkTo("runs", row.run_id, "gates", gate.step_id)}>
          <Label text={asked(gate)} maxLength={300} />
        </a>
        <Label
          className="cell-template muted"
          text={gate.question === null ? row.title : `${row.title} · ${gate.label}`}
          maxLength={120}
        />
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
        <TimeAgo at={gate.opened_at} />
      </div>
      <div role="cell" className="cell-due">
        {gate.due_at !== null && <DueTime at={gate.due_at} />}
      </div>
      <div role="cell" className="cell-whom">
        <ForWhom row={row} />
      </div>
    </>
  );
}

function GateMarks({ row: { gate } }: { row: GateRow }) {
  return (
    <>
      {gate.mode !== null && <ModeWord mode={gate.mode} />}
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
  const whom = gate.groups.length > 0 ? gate.groups.join(", ") : roleLabel(gate.role ?? "manager");
  const also = gate.escalated_to === null ? "" : `, ${roleLabel(gate.escalated_to)}`;
  const label = <Label text={`${whom}${also}`} maxLength={60} />;
  if (row.claimed_by === null) return label;
  return (
    <span title={t("looksAtIt", { who: row.claimed_by })}>
      {label}
      <span className="claimed"> · {t("lookedAt")}</span>
    </span>
  );
}
