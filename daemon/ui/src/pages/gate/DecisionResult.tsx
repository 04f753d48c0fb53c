/** The result of a decision: running calls, their outcome, and links to what is next. */

import { useEffect, useRef } from "react";
import { getAll } from "../../api/client";
import { useConnectionState } from "../../api/eventStream";
import { getRunCanvas } from "../../api/resources";
import type { Gate, GateRow, Run, RunEvent, TraceEntry } from "../../api/types";
import { StatusBadge } from "../../components/Badges";
import { CallDetail } from "../../components/CallDetail";
import { Note } from "../../components/Feedback";
import { BusinessKey, Heading } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { PersonName } from "../../components/record/PersonName";
import { Label, Text } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { Value } from "../../components/ValueTable";
import { useGateRows } from "../../state/inbox";
import { linkTo, useRoute } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { identityOf } from "../../text/identity";
import { formatTime, outcomeLabel } from "../../text/labels";
import {
  asked,
  callState,
  describeDecision,
  OUTCOME_UNKNOWN,
  youDecided,
} from "../../text/sentences";
import { gateAddress, inboxAddress } from "../inbox/gateCells";
import { useNextInList } from "../inbox/useInbox";
import { gate as t } from "../../text/en/gate";

/** A decision sent from this window, confirmed or not. */
export interface SentDecision {
  gate: Gate;
  decision: string;
}

const POLL_MS = 3_000;
const EVENTS_MAX = 2_000;

/** The trace entry that a sent decision has closed, if the run shows it. */
export function visitDecided(
  run: Run,
  given: SentDecision | null,
  me: string,
): TraceEntry | undefined {
  if (given === null) return undefined;
  const { gate, decision } = given;
  return run.trace.find(
    (visit) =>
      visit.step_id === gate.step_id &&
      visit.visit === gate.visit &&
      visit.verdict?.by === me &&
      visit.verdict.decision === decision,
  );
}

export function DecisionRecorded({
  given,
  run,
  reload,
  onBack,
}: {
  given: SentDecision;
  run: Run;
  reload: () => void;
  onBack: () => void;
}) {
  const again = run.gates.find((gate) => gate.step_id === given.gate.step_id);
  return (
    <section className="result" role="status">
      <span className={`result-icon ${given.decision === "denied" ? "deny" : "go"}`}>
        <Icon name={given.decision === "denied" ? "denied" : "done"} size={28} />
      </span>
      <Heading title={t("recorded")} />
      <p className="lead">
        {youDecided(given.decision, t("quotedLabel", { label: <Label text={given.gate.label} /> }))}
        <BusinessKey of={run} />
      </p>
      <DecisionProgress
        run={run}
        step={given.gate.step_id}
        visit={given.gate.visit}
        reload={reload}
      />
      <div className="actions">
        {again !== undefined && (
          <button type="button" className="button primary" onClick={onBack}>
            {t("decideAgain")}
          </button>
        )}
        <NextLinks run={run} decided={given.gate} main={again === undefined} focused />
      </div>
    </section>
  );
}

/** A gate that is not open, and who closed it. */
export function GateClosed({
  run,
  step,
  visit,
  reload,
}: {
  run: Run;
  step: string;
  visit: number | null;
  reload: () => void;
}) {
  const closed = run.trace
    .filter(
      (entry) =>
        entry.step_id === step &&
        entry.verdict !== null &&
        (visit === null || entry.visit === visit),
    )
    .at(-1);
  const verdict = closed?.verdict ?? null;
  const { user } = useAccount();
  const { own, known } = useOwnVerdict(run, step, closed?.visit ?? null);
  const decidedByUser = verdict?.by === user.email;
  const counted = own !== undefined && own.decision === verdict?.decision;
  return (
    <section className="result" role="status">
      <span className="result-icon">
        <Icon name="info" size={28} />
      </span>
      <Heading title={closedTitle(verdict, decidedByUser || counted, known && own === undefined)} />
      {verdict === null ? (
        <p className="lead">{run.status === "cancelled" ? t("runCancelled") : t("doesNotWait")}</p>
      ) : (
        <>
          <p className="lead">
            {t("decidedOn", {
              who: decidedByUser ? (
                t("you")
              ) : (
                <PersonName by={verdict.by} kind={verdict.by_kind} giver={verdict.on_behalf_of} />
              ),
              did: describeDecision(verdict.decision, undefined, decidedByUser),
              at: formatTime(verdict.at),
            })}
            <BusinessKey of={run} />
          </p>
          {verdict.comment !== null && (
            <blockquote>
              <Text text={verdict.comment} />
            </blockquote>
          )}
          {!decidedByUser && known && (
            <p>
              {counted
                ? t("yoursCounted")
                : own === undefined
                  ? t("countsOnce")
                  : t("youDecidedBefore", {
                      did: describeDecision(own.decision ?? "", undefined, true),
                    })}{" "}
              {t("noAction")}
            </p>
          )}
        </>
      )}
      <DecisionProgress run={run} step={step} visit={closed?.visit ?? null} reload={reload} />
      <div className="actions">
        <NextLinks run={run} decided={{ step_id: step, ...AT_THE_TOP }} main />
      </div>
    </section>
  );
}

/** Whoever had a part in a decision never reads that it was decided already. */
function closedTitle(
  verdict: TraceEntry["verdict"],
  byReader: boolean,
  withoutReader: boolean,
): string {
  if (verdict === null) return t("noDecision");
  if (byReader) return t("youDecidedThis");
  if (verdict.by_kind === "deadline") return t("deadlineDecided");
  return withoutReader ? t("alreadyDecided") : t("decided");
}

/** A verdict of the reader's own that counted when the gate closed; `known` once that was read. */
function useOwnVerdict(
  run: Run,
  step: string,
  visit: number | null,
): { own: RunEvent | undefined; known: boolean } {
  const { user } = useAccount();
  const { value } = useLoad(`verdicts of ${run.id} ${run.version}`, () =>
    getAll<RunEvent>(`/process-runs/${run.id}/events?limit=200`, EVENTS_MAX),
  );
  const own = (value ?? [])
    .filter((event) => event.step_id === step && event.visit === visit)
    .filter(({ type, by, giver }) => (type === "verdict_withdrawn" ? giver : by) === user.email)
    .filter(({ type }) => type === "verdict_given" || type === "verdict_withdrawn")
    .slice(-1)
    .find(({ type }) => type === "verdict_given");
  return { own, known: value !== null };
}

/** What runs because of a decision, and its outcome. */
function DecisionProgress({
  run,
  step,
  visit,
  reload,
}: {
  run: Run;
  step: string;
  visit: number | null;
  reload: () => void;
}) {
  const { value: canvas } = useLoad(`canvas of ${run.id}`, () => getRunCanvas(run));
  const connection = useConnectionState();
  const running = run.trace.filter((entry) =>
    ["calling", "judging", "ready"].includes(entry.status),
  );
  const busy = running.length > 0 || run.status === "executing";
  useEffect(() => {
    // Poll while the event stream is down.
    if (!busy || connection === "live") return;
    const timer = setInterval(reload, POLL_MS);
    return () => clearInterval(timer);
  }, [busy, connection, reload]);
  const label = (id: string) => canvas?.nodes.find((node) => node.id === id)?.label ?? id;
  const visits =
    visit === null
      ? []
      : run.trace.filter((entry) => entry.step_id === step && entry.visit >= visit);
  const latestVisit = visits.at(-1);
  const uncertainGate = run.gates.find(
    (gate) => gate.step_id === step && gate.reason === OUTCOME_UNKNOWN,
  );
  return (
    <>
      {running.map((entry) => (
        <RunningCall
          key={`${entry.step_id} ${entry.visit}`}
          visit={entry}
          label={label(entry.step_id)}
        />
      ))}
      {uncertainGate !== undefined && (
        <Note kind="warn" title={t("outcomeUnknown", { label: uncertainGate.label.slice(0, 120) })}>
          <p>
            <Text
              text={
                visits.findLast((entry) => entry.error !== null)?.error?.detail ?? t("maybeReached")
              }
            />
          </p>
        </Note>
      )}
      {latestVisit !== undefined && !running.includes(latestVisit) && (
        <CallResult visit={latestVisit} label={label(latestVisit.step_id)} />
      )}
      <RunState run={run} />
    </>
  );
}

function RunningCall({ visit, label }: { visit: TraceEntry; label: string }) {
  return (
    <div className="call-progress">
      <p>
        <Icon name="calling" size={16} />{" "}
        {t("runningNow", {
          call: <strong>{t("runningCall", { label: <Label text={label} /> })}</strong>,
          since: <TimeAgo at={visit.verdict?.at ?? visit.started_at} />,
        })}
      </p>
      {visit.request !== null && (
        <CallDetail call={visit.request} state={callState(visit, undefined)} />
      )}
    </div>
  );
}

/** The outcome of the call that was decided on. */
function CallResult({ visit, label }: { visit: TraceEntry; label: string }) {
  if (visit.kind !== "task" || visit.mode !== "live") return null;
  if (visit.error !== null && visit.status === "failed") {
    return (
      <Note kind="bad" title={t("failed", { label: label.slice(0, 120) })}>
        <p>
          <Text text={visit.error.detail} />
        </p>
      </Note>
    );
  }
  if (visit.status !== "done" || visit.verdict?.decision === "done") return null;
  return (
    <details className="call-progress">
      <summary>{t("returned", { label: <Label text={label} /> })}</summary>
      <Value value={visit.output} />
    </details>
  );
}

function RunState({ run }: { run: Run }) {
  return (
    <p className="run-state">
      {t("theRun")} <StatusBadge status={run.status} />{" "}
      {run.outcome !== null && (
        <strong>
          <Label text={outcomeLabel(run.outcome)} />
        </strong>
      )}
      {run.status === "failed" && run.error !== null && <Text text={run.error.detail} />}
    </p>
  );
}

type Decided = Pick<Gate, "step_id" | "tier" | "opened_at" | "due_at" | "reason">;

/** A gate that nothing is known of any more: the next one is the first of the list. */
const AT_THE_TOP: Omit<Decided, "step_id"> = {
  tier: "critical",
  opened_at: "1970-01-01T00:00:00Z",
  due_at: null,
  reason: OUTCOME_UNKNOWN,
};

/** Links to the next gate, the run and the inbox; `main` highlights the first. */
function NextLinks({
  run,
  decided,
  main,
  focused = false,
}: {
  run: Run;
  decided: Decided;
  main: boolean;
  /** Whether the next gate takes the focus, so that Enter opens it. */
  focused?: boolean;
}) {
  const list = useRoute().query.get("list") ?? "";
  const ofRun = useGateRows(`mine=true&run_id=${run.id}`) ?? [];
  const next = useNextInList(list, { run: run.id, gate: decided });
  const own = ofRun.find((row) => row.gate.step_id !== decided.step_id);
  const first = useRef<HTMLAnchorElement>(null);
  const there = own ?? next;
  useEffect(() => {
    const at = document.activeElement;
    if (focused && (at === null || at === document.body || at.tagName === "H1"))
      first.current?.focus({ preventScroll: true });
  }, [focused, there?.run_id]);
  const wanted = main ? "button primary" : "button";
  return (
    <>
      {own !== undefined && (
        <a ref={first} className={wanted} href={gateAddress(own, list)}>
          <span>{t("nextInRun", { own: <Label text={asked(own.gate)} maxLength={90} /> })}</span>
        </a>
      )}
      {own === undefined && next !== undefined && (
        <a ref={first} className={wanted} href={gateAddress(next, list)}>
          <span>{t("nextInInbox", { gate: <Label text={nextName(next)} maxLength={160} /> })}</span>
        </a>
      )}
      <a
        className={own === undefined && next === undefined ? wanted : "button"}
        href={linkTo("runs", run.id)}
      >
        {t("viewRun")}
      </a>
      <a className="button" href={inboxAddress(list)}>
        {t("inbox")}
      </a>
    </>
  );
}

/** “REF-2002: Refund 640 EUR?”. */
function nextName(row: GateRow): string {
  const which = identityOf(row.business_key, row.inputs)?.value;
  return which === undefined ? asked(row.gate) : `${which}: ${asked(row.gate)}`;
}
