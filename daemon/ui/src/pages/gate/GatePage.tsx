/** A gate: the question, its basis, the preview of each decision, and the decision form. */

import { useEffect, useMemo, useRef, useState } from "react";
import { isObject } from "../../api/json";
import type { JsonSchema } from "../../api/jsonSchema";
import { getRunCanvas, getTemplate, getTemplates } from "../../api/resources";
import type { Gate, Run, Template } from "../../api/types";
import { TierBadge } from "../../components/Badges";
import { CallDetail } from "../../components/CallDetail";
import { ClockBars } from "../../components/clocks/ClockBars";
import { Loading, Note } from "../../components/Feedback";
import { Breadcrumbs, BusinessKey, Heading, titled } from "../../components/Heading";
import { NoRun } from "../../components/NoRun";
import { Label, Text } from "../../components/Text";
import { ElapsedTime } from "../../components/Time";
import { ValueTable } from "../../components/ValueTable";
import { linkTo, useRoute } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad, useRun } from "../../state/useLoad";
import { humanize, keyInputs } from "../../text/labels";
import {
  asked,
  gateQuestion,
  gateReason,
  ordinal,
  OUTCOME_UNKNOWN,
  signalSentence,
} from "../../text/sentences";
import { inboxAddress } from "../inbox/gateCells";
import { ActionAsked } from "./ActionAsked";
import { CallDifferences } from "./CallDifferences";
import { Claim } from "./Claim";
import { DecisionForm } from "./DecisionForm";
import { DecisionRecorded, GateClosed, type SentDecision, visitDecided } from "./DecisionResult";
import type { GateSnapshot } from "./differences";
import { GateChanges } from "./GateChanges";
import { GateRules } from "./GateRules";
import { PlannedCalls } from "./PlannedCalls";
import { PanelVotes } from "./PanelVotes";
import { Proposals } from "./Proposals";
import { useStanding } from "./useStanding";
import { VerdictsSoFar } from "./VerdictsSoFar";
import { actions } from "../../text/en/actions";
import { gate as t } from "../../text/en/gate";

export default function GatePage({ run: id, step }: { run: string; step: string }) {
  const { value: run, problem, reload, set } = useRun(id);
  const { user } = useAccount();
  const templates = useLoad("templates", getTemplates);
  const [shown, setShown] = useState<GateSnapshot | null>(null);
  const [given, setSent] = useState<SentDecision | null>(null);
  const [accepted, setAccepted] = useState(false);
  const now = run?.gates.find((gate) => gate.step_id === step);
  const newest = useRef(run);
  newest.current = run;
  useEffect(() => {
    if (shown === null && run !== null && now !== undefined) setShown({ run, gate: now });
  }, [run, now, shown]);
  // What stands above the decision is there before it, so that nothing moves under the hand.
  if (run === null || (!templates.done && templates.problem === null))
    return problem === null ? (
      <Loading what={t("loading")} />
    ) : (
      <NoRun id={id} problem={problem} retry={reload} />
    );
  const open = now?.visit === given?.gate.visit && counts(now, user.email);
  const decided = accepted || visitDecided(run, given, user.email) !== undefined;
  if (given !== null && decided && !open) {
    const back = () => {
      setSent(null);
      setAccepted(false);
      setShown(null);
    };
    return <DecisionRecorded given={given} run={run} reload={reload} onBack={back} />;
  }
  if (shown === null)
    return now === undefined ? (
      <GateClosed run={run} step={step} visit={null} reload={reload} />
    ) : (
      <Loading />
    );
  if (now === undefined)
    return <GateClosed run={run} step={step} visit={shown.gate.visit} reload={reload} />;
  const stands = { run, gate: now };
  return (
    <OpenGateView
      shown={shown}
      template={templates.value?.find((one) => one.vertical === run.vertical) ?? null}
      changed={now.digest === shown.gate.digest ? null : stands}
      current={now}
      latest={run}
      onRefresh={() => setShown(stands)}
      onSent={setSent}
      onAccepted={(next) => {
        setAccepted(true);
        // The event stream may have loaded a newer version.
        if (next.version >= (newest.current?.version ?? 0)) set(next);
      }}
      onRefused={(unsure) => {
        if (!unsure) setSent(null);
        reload();
      }}
      onWithdrawn={(next) => {
        setSent(null);
        setAccepted(false);
        set(next);
      }}
    />
  );
}

/** Whether a verdict of the reader counts at a gate that is still open. */
function counts(gate: Gate | undefined, me: string): boolean {
  return gate?.verdicts.some((verdict) => verdict.by === me) ?? false;
}

interface OpenGateProps {
  shown: GateSnapshot;
  template: Template | null;
  changed: GateSnapshot | null;
  /** The gate as it is now: what others proposed and decided does not change the question. */
  current: Gate;
  /** The run as it is now: its clocks go on. */
  latest: Run;
  onRefresh: () => void;
  onSent: (sent: SentDecision) => void;
  onAccepted: (run: Run) => void;
  onRefused: (unsure: boolean) => void;
  onWithdrawn: (run: Run) => void;
}

function OpenGateView({
  shown,
  template,
  changed,
  current,
  latest,
  onRefresh,
  onSent,
  onAccepted,
  onRefused,
  onWithdrawn,
}: OpenGateProps) {
  const { run, gate } = shown;
  const list = useRoute().query.get("list") ?? "";
  const standing = useStanding(run, current, latest.version);
  const title = template?.title ?? run.vertical;
  const { value: canvas } = useLoad(`canvas of ${run.id}`, () => getRunCanvas(run));
  const labels = useMemo(
    () => new Map((canvas?.nodes ?? []).map((node) => [node.id, node.label])),
    [canvas],
  );
  const label = (id: string) => labels.get(id) ?? humanize(id);
  const clock = (id: string) => latest.clocks.find((one) => one.id === id)?.label ?? humanize(id);
  const fields = useInputs(run.vertical);
  const input = (name: string) => fields[name]?.title ?? humanize(name);
  const openings =
    1 +
    run.trace.filter((visit) => visit.step_id === gate.step_id && visit.verdict !== null).length;
  const unknown = gate.reason === OUTCOME_UNKNOWN;
  const question = asked(gate);
  return (
    <article className="gate">
      <Breadcrumbs href={inboxAddress(list)} text={t("inbox")}>
        {gate.action !== null && <a href="#/actions">{actions("actions")}</a>}
        <a href={linkTo("runs", run.id)}>
          {t("runOf", {
            vertical: <Label text={title} maxLength={60} />,
          })}
        </a>
      </Breadcrumbs>
      <Heading
        title={titled(question, run.business_key)}
        name={
          <>
            <Label text={question} maxLength={700} />
            <BusinessKey of={run} />
          </>
        }
      >
        <p className="badges">
          <TierBadge tier={gate.tier} />
          <span className="muted">
            {gate.question !== null && (
              <>
                <Label text={gate.label} /> ·{" "}
              </>
            )}
            {keyInputs(run.inputs)
              .filter(([, value]) => !question.includes(value))
              .map(([name, value]) => (
                <span key={name}>
                  <Label text={input(name)} maxLength={30} /> <Label text={value} maxLength={60} />{" "}
                  ·{" "}
                </span>
              ))}
            {t("waitingFor", { time: <ElapsedTime at={gate.opened_at} /> })}
            {openings > 1 && ` · ${t("askedTimes", { nth: ordinal(openings) })}`}
          </span>
        </p>
      </Heading>
      <div className="gate-columns">
        <div className="gate-main">
          <section className="card question-card">
            <h2>{gate.question === null ? t("question") : t("whyAsked")}</h2>
            {gate.question === null && (
              <p className="question">
                <GateQuestion gate={gate} />
              </p>
            )}
            {gate.action === null && (
              <p>
                <strong>
                  <Label text={title} maxLength={80} />:
                </strong>{" "}
                {template !== null && <Label text={template.description} maxLength={300} />}
              </p>
            )}
            <p>
              <strong>{t("reason")}</strong> <Text text={gateReason(gate, label, input)} />
            </p>
            <a
              className="button narrow-only"
              href="#decide"
              onClick={(event) => {
                event.preventDefault();
                document.getElementById("decide")?.focus();
              }}
            >
              {t("goToDecision")}
            </a>
          </section>
          {gate.action !== null && <ActionAsked run={run} gate={gate} action={gate.action} />}
          {gate.effect !== null && (
            <section className="card">
              <h2>{unknown ? t("callUnknown") : t("callOnApproval")}</h2>
              <CallDetail call={gate.effect} state={unknown ? "unknown" : "planned"} />
            </section>
          )}
          <CallDifferences gate={gate} />
          <PlannedCalls gate={gate} effects={gate.effects} />
          {gate.action === null && (
            <DecisionBasis run={run} gate={gate} label={label} fields={fields} />
          )}
        </div>
        <div className="gate-side">
          <ClockBars run={latest} canvas={canvas} />
          <GateRules gate={current} standing={standing} label={label} clock={clock} />
          <Claim run={run} gate={current} standing={standing} />
          {current.panel !== null && <PanelVotes panel={current.panel} />}
          <Proposals proposals={current.proposals} />
          <VerdictsSoFar run={run} gate={current} solo={standing.solo} onWithdrawn={onWithdrawn} />
          <DecisionForm
            shown={shown}
            standing={standing}
            label={label}
            changes={
              changed === null ? null : (
                <div className="changed">
                  <GateChanges before={shown} after={changed} onSeen={onRefresh} />
                </div>
              )
            }
            onSent={onSent}
            onAccepted={onAccepted}
            onRefused={onRefused}
          />
        </div>
      </div>
    </article>
  );
}

function GateQuestion({ gate }: { gate: Gate }) {
  const found = gateQuestion(gate);
  if (found === null) return <>{t("signOffQuestion")}</>;
  return (
    <>
      {found[0]}
      <Label text={gate.label} />
      {found[1]}
    </>
  );
}

/** The fields of a template's inputs, by name. */
function useInputs(vertical: string): Record<string, JsonSchema> {
  const { value } = useLoad(`template ${vertical}`, () => getTemplate(vertical));
  return (value?.inputs_schema as JsonSchema | undefined)?.properties ?? {};
}

/** The basis of the decision: inputs, and results of earlier steps. */
function DecisionBasis({
  run,
  gate,
  label,
  fields,
}: {
  run: Run;
  gate: Gate;
  label: (step: string) => string;
  fields: Record<string, JsonSchema>;
}) {
  const found = latestFirst(run);
  const sampled = found.filter(([step]) => isShadowed(run, step));
  return (
    <>
      <section className="card">
        <h2>{t("results")}</h2>
        {sampled.length > 0 && sampled.length === found.length && (
          <p className="muted small gap">{t("samples")}</p>
        )}
        {found.length === 0 ? (
          <p className="muted">{t("noResult")}</p>
        ) : (
          found.map(([step, value]) => (
            <div className="step-result" key={step}>
              <h3>
                <Label text={label(step)} />
                {sampled.length < found.length && isShadowed(run, step) && (
                  <small className="muted"> {t("sampleResponse")}</small>
                )}
              </h3>
              {isObject(value) ? (
                <ValueTable values={value} />
              ) : (
                <ValueTable values={{ answer: value }} />
              )}
            </div>
          ))
        )}
        {gate.signals.length > 0 && (
          <Note kind="warn" title={signalSentence(gate.signals, label)} />
        )}
      </section>
      <section className="card">
        <h2>{t("inputs")}</h2>
        {Object.keys(run.inputs).length === 0 ? (
          <p className="muted">{t("noInputs")}</p>
        ) : (
          <ValueTable values={run.inputs} hints={fields} />
        )}
      </section>
    </>
  );
}

function isShadowed(run: Run, step: string): boolean {
  return run.trace.filter((visit) => visit.step_id === step).at(-1)?.mode === "shadow";
}

/** The facts, latest first. */
function latestFirst(run: Run): [string, unknown][] {
  const at = (step: string) => run.trace.findLastIndex((visit) => visit.step_id === step);
  return Object.entries(run.facts).sort(([name], [text]) => at(text) - at(name));
}
