/** After a decision, one's own or somebody else's: what runs because of it, what became of it, and where to go from here. */

import { useEffect, useMemo } from "react";
import { canvasOf, useLoad } from "../hooks";
import { riskiestFirst, useWaiting } from "../inbox";
import { useLink } from "../live";
import { to } from "../router";
import { around, callState, decided, OUTCOME_UNKNOWN, who } from "../sentences";
import { useAccount } from "../session";
import type { Gate, Run, Visit } from "../types";
import { mayDecide, moment, named } from "../words";
import { Heading, Note, StatusBadge, When } from "./Bits";
import { CallView } from "./CallView";
import { Value } from "./Facts";
import { Icon } from "./Icon";
import { Label, Text } from "./Text";

/** A decision that was made in this window: sent, and answered or not yet. */
export interface Given {
  gate: Gate;
  decision: string;
}

const AGAIN_MS = 3_000;

/** The visit that a decision of ours has closed, once the run says so. */
export function closedBy(run: Run, given: Given | null, me: string): Visit | undefined {
  if (given === null) return undefined;
  const { gate, decision } = given;
  return run.trace.find((one) => one.step_id === gate.step_id && one.visit === gate.visit && one.verdict?.by === me && one.verdict.decision === decision);
}

export function Done({ given, run, reload, onBack }: { given: Given; run: Run; reload: () => void; onBack: () => void }) {
  const again = run.gates.find((gate) => gate.step_id === given.gate.step_id);
  const [before, after] = around(given.decision);
  return (
    <section className="after" role="status">
      <span className={`after-sign ${given.decision === "denied" ? "deny" : "go"}`}>
        <Icon name={given.decision === "denied" ? "denied" : "done"} size={28} />
      </span>
      <Heading title="Your decision is recorded" />
      <p className="lead">
        You {before}“<Label text={given.gate.label} />”{after}.
      </p>
      <Becoming run={run} step={given.gate.step_id} visit={given.gate.visit} reload={reload} />
      <div className="actions">
        {again !== undefined && (
          <button type="button" className="button primary" onClick={onBack}>
            It is asked again here: decide
          </button>
        )}
        <Onwards run={run} not={given.gate.step_id} main={again === undefined} />
      </div>
    </section>
  );
}

/** A gate that does not wait: who closed it, if somebody did. */
export function NotWaiting({ run, step, visit, reload }: { run: Run; step: string; visit: number | null; reload: () => void }) {
  const closed = run.trace.filter((one) => one.step_id === step && one.verdict !== null && (visit === null || one.visit === visit)).at(-1);
  const verdict = closed?.verdict ?? null;
  const { user } = useAccount();
  const mine = verdict?.by === user.email;
  return (
    <section className="after" role="status">
      <span className="after-sign">
        <Icon name="info" size={28} />
      </span>
      <Heading title={verdict === null ? "Nothing waits here" : mine ? "You have decided this" : "This is decided already"} />
      {verdict === null ? (
        <p className="lead">{run.status === "cancelled" ? "The run was cancelled, so there is nothing left to decide." : "The run does not wait at this step now."}</p>
      ) : (
        <>
          <p className="lead">
            <Label text={who(verdict.by, user.email)} /> {decided(verdict.decision)} on {moment(verdict.at)}.
          </p>
          {verdict.comment !== null && (
            <blockquote>
              <Text text={verdict.comment} />
            </blockquote>
          )}
          {!mine && <p>A decision counts once, so there is nothing for you to do.</p>}
        </>
      )}
      <Becoming run={run} step={step} visit={closed?.visit ?? null} reload={reload} />
      <div className="actions">
        <Onwards run={run} not={step} main />
      </div>
    </section>
  );
}

/** What a decision has set going, while it goes on and when it is over. */
function Becoming({ run, step, visit, reload }: { run: Run; step: string; visit: number | null; reload: () => void }) {
  const { value: canvas } = useLoad(`canvas of ${run.id}`, () => canvasOf(run));
  const link = useLink();
  const running = run.trace.filter((one) => one.status === "calling" || one.status === "ready");
  const busy = running.length > 0 || run.status === "executing";
  useEffect(() => {
    // Without the stream nobody tells the page when it is over.
    if (!busy || link === "live") return;
    const timer = setInterval(reload, AGAIN_MS);
    return () => clearInterval(timer);
  }, [busy, link, reload]);
  const label = (id: string) => canvas?.nodes.find((node) => node.id === id)?.label ?? id;
  const since = visit === null ? [] : run.trace.filter((one) => one.step_id === step && one.visit >= visit);
  const own = since.at(-1);
  const doubt = run.gates.find((gate) => gate.step_id === step && gate.reason === OUTCOME_UNKNOWN);
  return (
    <>
      {running.map((one) => (
        <Running key={`${one.step_id} ${one.visit}`} visit={one} label={label(one.step_id)} />
      ))}
      {doubt !== undefined && (
        <Note kind="warn" title={`Nobody can know from here whether “${doubt.label.slice(0, 120)}” was carried out.`}>
          <p>
            <Text text={since.findLast((one) => one.error !== null)?.error?.detail ?? "The call may or may not have reached the other side."} />
          </p>
        </Note>
      )}
      {own !== undefined && !running.includes(own) && <Settled visit={own} label={label(own.step_id)} />}
      <Now run={run} />
    </>
  );
}

function Running({ visit, label }: { visit: Visit; label: string }) {
  return (
    <div className="becoming">
      <p>
        <Icon name="calling" size={16} /> <strong>Running now: <Label text={label} /></strong>, begun <When at={visit.verdict?.at ?? visit.started_at} />. This page shows by itself what becomes of it.
      </p>
      {visit.request !== null && <CallView call={visit.request} state={callState(visit, undefined)} />}
    </div>
  );
}

/** What came of the call that was decided on. */
function Settled({ visit, label }: { visit: Visit; label: string }) {
  if (visit.kind !== "task" || visit.mode !== "live") return null;
  if (visit.error !== null && visit.status === "failed") {
    return (
      <Note kind="bad" title={`“${label.slice(0, 120)}” failed`}>
        <p>
          <Text text={visit.error.detail} />
        </p>
      </Note>
    );
  }
  if (visit.status !== "done" || visit.verdict?.decision === "done") return null;
  return (
    <details className="becoming">
      <summary>
        The call of “<Label text={label} />” was answered: what came back
      </summary>
      <Value value={visit.output} />
    </details>
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

/** Where to go from here; `main` when nothing before it is what somebody wants next. */
function Onwards({ run, not, main }: { run: Run; not: string; main: boolean }) {
  const waiting = useWaiting();
  const { role } = useAccount();
  const own = run.gates.find((gate) => gate.step_id !== not && mayDecide(role, gate.role));
  const next = useMemo(() => waiting.filter((one) => one.run.id !== run.id && mayDecide(role, one.gate.role)).sort(riskiestFirst)[0], [waiting, run.id, role]);
  const wanted = main ? "button primary" : "button";
  return (
    <>
      {own !== undefined && (
        <a className={wanted} href={to("runs", run.id, "gates", own.step_id)}>
          <span>
            Next in this run: <Label text={own.label} most={60} />
          </span>
        </a>
      )}
      {own === undefined && next !== undefined && (
        <a className={wanted} href={to("runs", next.run.id, "gates", next.gate.step_id)}>
          <span>
            Next in the inbox: <Label text={next.gate.label} most={60} />
          </span>
        </a>
      )}
      <a className={own === undefined && next === undefined ? wanted : "button"} href={to("runs", run.id)}>
        Look at the run
      </a>
      <a className="button" href="#/">
        Inbox
      </a>
    </>
  );
}
