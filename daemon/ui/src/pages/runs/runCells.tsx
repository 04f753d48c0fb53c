/** The cells of a run: status, process, which one, amount, where it waits, who started it, when. */

import type { RunRow } from "../../api/types";
import { ModeWord, StatusWord } from "../../components/Badges";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useNames } from "../../state/members";
import { linkTo } from "../../state/router";
import { amountOf, identityOf } from "../../text/identity";
import { outcomeLabel } from "../../text/labels";
import { runs as t } from "../../text/en/runs";

export function keyOfRun(run: RunRow): string {
  return run.id;
}

export function RunCells({ run, title }: { run: RunRow; title: string }) {
  const which = identityOf(run.business_key, run.inputs);
  const amount = amountOf(run.inputs);
  return (
    <>
      <div role="cell" className="cell-status">
        <StatusWord status={run.status} />
      </div>
      <div role="cell" className="cell-what">
        <a className="row-main" href={linkTo("runs", run.id)}>
          <Label text={title} />
        </a>
      </div>
      <div
        role="cell"
        className="cell-which"
        title={which === null ? t("run") : `${which.name}: ${which.value}`}
      >
        <Label text={which?.value ?? run.id} maxLength={200} />
      </div>
      <div role="cell" className="cell-amount" title={amount?.name}>
        {amount?.value}
      </div>
      <div role="cell" className="cell-where">
        {run.mode !== null && run.gates.length === 0 && <ModeWord mode={run.mode} />}{" "}
        <Label text={whereText(run)} maxLength={160} />
      </div>
      <div role="cell" className="cell-whom">
        <Starter run={run} />
      </div>
      <div role="cell" className="cell-since">
        <TimeAgo at={run.created_at} />
      </div>
    </>
  );
}

function whereText(run: RunRow): string {
  if (run.gates.length > 0) return run.gates.map((gate) => gate.label).join(", ");
  if (run.error !== null) return run.error;
  return run.outcome === null ? "" : outcomeLabel(run.outcome);
}

function Starter({ run }: { run: RunRow }) {
  const nameOf = useNames();
  const by = run.created_by_kind === "person" ? nameOf(run.created_by) : run.created_by;
  return <Label text={by} maxLength={60} />;
}
