/** After a decision, one's own or somebody else's: what became of it, and where to go from here. */

import { useMemo } from "react";
import { riskiestFirst, useWaiting } from "../inbox";
import { to } from "../router";
import { useAccount } from "../session";
import type { Gate, Run } from "../types";
import { decided, mayDecide, moment, named } from "../words";
import { Heading, StatusBadge } from "./Bits";
import { Icon } from "./Icon";
import { Label, Text } from "./Text";

export interface Given {
  run: Run;
  gate: Gate;
  decision: string;
}

export function Done({ given, run, onBack }: { given: Given; run: Run; onBack: () => void }) {
  const again = run.gates.find((gate) => gate.step_id === given.gate.step_id);
  return (
    <section className="after" role="status">
      <span className={`after-sign ${given.decision === "denied" ? "deny" : "go"}`}>
        <Icon name={given.decision === "denied" ? "denied" : "done"} size={28} />
      </span>
      <Heading title="Your decision is recorded" />
      <p className="lead">
        You {decided(given.decision)} “<Label text={given.gate.label} />”.
      </p>
      <Now run={run} />
      <div className="actions">
        {again !== undefined && (
          <button type="button" className="button primary" onClick={onBack}>
            It is asked again here: decide
          </button>
        )}
        <Onwards run={run} not={given.gate.step_id} />
      </div>
    </section>
  );
}

/** A gate that does not wait: who closed it, if somebody did. */
export function NotWaiting({ run, step, visit }: { run: Run; step: string; visit: number | null }) {
  const closed = run.trace.filter((one) => one.step_id === step && one.verdict !== null && (visit === null || one.visit === visit)).at(-1);
  const verdict = closed?.verdict ?? null;
  const { user } = useAccount();
  const who = verdict === null ? "" : verdict.by === user.email ? "You" : verdict.by;
  return (
    <section className="after" role="status">
      <span className="after-sign">
        <Icon name="info" size={28} />
      </span>
      <Heading title={verdict === null ? "Nothing waits here" : "This is decided already"} />
      {verdict === null ? (
        <p className="lead">{run.status === "cancelled" ? "The run was cancelled, so there is nothing left to decide." : "The run does not wait at this step now."}</p>
      ) : (
        <>
          <p className="lead">
            <Label text={who} /> {decided(verdict.decision)} it on {moment(verdict.at)}.
          </p>
          {verdict.comment !== null && (
            <blockquote>
              <Text text={verdict.comment} />
            </blockquote>
          )}
          <p>A decision counts once, so there is nothing for you to do.</p>
        </>
      )}
      <Now run={run} />
      <div className="actions">
        <Onwards run={run} not={step} />
      </div>
    </section>
  );
}

function Now({ run }: { run: Run }) {
  return (
    <p className="after-now">
      The run: <StatusBadge status={run.status} />{" "}
      {run.outcome !== null && (
        <strong>
          <Label text={named(run.outcome)} />
        </strong>
      )}
      {run.status === "failed" && run.error !== null && <Text text={run.error.detail} />}
    </p>
  );
}

function Onwards({ run, not }: { run: Run; not: string }) {
  const waiting = useWaiting();
  const { role } = useAccount();
  const own = run.gates.find((gate) => gate.step_id !== not && mayDecide(role, gate.role));
  const next = useMemo(() => waiting.filter((one) => one.run.id !== run.id && mayDecide(role, one.gate.role)).sort(riskiestFirst)[0], [waiting, run.id, role]);
  return (
    <>
      {own !== undefined && (
        <a className="button primary" href={to("runs", run.id, "gates", own.step_id)}>
          <span>
            Next in this run: <Label text={own.label} most={60} />
          </span>
        </a>
      )}
      {own === undefined && next !== undefined && (
        <a className="button primary" href={to("runs", next.run.id, "gates", next.gate.step_id)}>
          <span>
            Next in the inbox: <Label text={next.gate.label} most={60} />
          </span>
        </a>
      )}
      <a className={own === undefined && next === undefined ? "button primary" : "button"} href={to("runs", run.id)}>
        Look at the run
      </a>
      <a className="button" href="#/">
        Inbox
      </a>
    </>
  );
}
