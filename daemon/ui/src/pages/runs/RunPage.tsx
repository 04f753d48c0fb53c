/** A run: graph, steps, history and actions. */

import { lazy, Suspense, useMemo, useState } from "react";
import { getAll } from "../../api/client";
import { useEvents } from "../../api/eventStream";
import { getRunCanvas } from "../../api/resources";
import type { Gate, RetainedRun, Run, RunEvent } from "../../api/types";
import { StatusBadge } from "../../components/Badges";
import { ClockBars } from "../../components/clocks/ClockBars";
import { DownloadButton } from "../../components/DownloadButton";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Breadcrumbs, BusinessKey, Heading, titled } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { NoRun } from "../../components/NoRun";
import { PersonName } from "../../components/record/PersonName";
import { Label, Text } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { ValueTable } from "../../components/ValueTable";
import { progress } from "../../graph/progress";
import { useGateRows } from "../../state/inbox";
import { useNames } from "../../state/members";
import { linkTo } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad, useRun, useTemplateTitles } from "../../state/useLoad";
import { humanize, outcomeLabel, mayDecide } from "../../text/labels";
import { asked, clockKey } from "../../text/sentences";
import { History } from "./History";
import { PromoteRun, PromotionLinks } from "./PromoteRun";
import { RedactRun } from "./RedactRun";
import { RunActions } from "./RunActions";
import { StepDetail } from "./StepDetail";
import { StepList } from "./StepList";
import { Waits } from "./Waits";
import { actions } from "../../text/en/actions";
import { common } from "../../text/en/common";
import { runs as t } from "../../text/en/runs";

const ProcessGraph = lazy(() => import("../../graph/ProcessGraph"));
const EVENTS_MAX = 5_000;
/** The process of actions has no template of its own. */
const ACTION = "action";

export default function RunPage({ id }: { id: string }) {
  const { value: run, problem, reload, set } = useRun(id);
  if (run === null)
    return problem === null ? (
      <Loading rows={6} what={t("loadingRun")} />
    ) : (
      <NoRun id={id} problem={problem} retry={reload} />
    );
  // What is answered to a command does not say how the run is kept.
  const onChanged = (next: Run) => set({ ...next, hold: run.hold ?? null });
  return <RunView run={run} onChanged={onChanged} onRedacted={reload} />;
}

function RunView({
  run,
  onChanged,
  onRedacted,
}: {
  run: RetainedRun;
  onChanged: (run: Run) => void;
  onRedacted: () => void;
}) {
  const titles = useTemplateTitles();
  const title = titles.get(run.vertical) ?? humanize(run.vertical);
  const graph = useLoad(`canvas of ${run.id}`, () => getRunCanvas(run));
  const archived = run.archived ?? null;
  const events = useLoad(`events of ${run.id}`, () =>
    archived === null
      ? getAll<RunEvent>(`/process-runs/${run.id}/events?limit=200`, EVENTS_MAX)
      : Promise.resolve([]),
  );
  useEvents((heard) => {
    if (heard.length === 0 || heard.some((event) => event.run_id === run.id)) events.reload();
  });
  const [step, setStep] = useState<string | null>(null);
  const labels = useMemo(
    () =>
      new Map([
        ...(graph.value?.nodes ?? []).map((node): [string, string] => [node.id, node.label]),
        ...run.clocks.map((one): [string, string] => [clockKey(one.id), one.label]),
      ]),
    [graph.value, run.clocks],
  );
  const label = (id: string) =>
    labels.get(id) ?? run.gates.find((gate) => gate.step_id === id)?.label ?? id;
  const states = useMemo(
    () => (graph.value === null ? null : progress(graph.value, run, events.value ?? [])),
    [graph.value, run, events.value],
  );
  return (
    <article className="run">
      <Breadcrumbs href="#/runs" text={t("runs")}>
        {run.vertical === ACTION ? (
          <a href="#/actions">{actions("actions")}</a>
        ) : (
          <a href={linkTo("templates", run.vertical)}>{t("template")}</a>
        )}
      </Breadcrumbs>
      <Heading
        title={titled(title, run.business_key)}
        name={
          <>
            <Label text={title} />
            <BusinessKey of={run} />
          </>
        }
      >
        <p className="badges">
          <StatusBadge status={run.status} />
          {run.outcome !== null && (
            <strong>
              <Label text={outcomeLabel(run.outcome)} />
            </strong>
          )}
          <span className="muted">
            {t("startedBy", {
              when: <TimeAgo at={run.created_at} />,
              who: <PersonName by={run.created_by} kind={run.created_by_kind} />,
            })}
          </span>
        </p>
        <PromotionLinks run={run} />
      </Heading>
      <KeepNotice run={run} />
      {archived === null && <RunNotice run={run} label={label} />}
      <div className="actions run-actions">
        <GateLinks run={run} />
        <RunActions run={run} onChanged={onChanged} />
        <PromoteRun run={run} />
        <RedactRun
          run={run}
          onDone={() => {
            onRedacted();
            events.reload();
          }}
        />
      </div>
      <ClockBars run={run} canvas={graph.value} />
      <Waits run={run} label={label} onChanged={onChanged} />
      <div className="run-columns">
        <section className="run-graph" aria-label={t("graph")}>
          {graph.value !== null && states !== null ? (
            <Suspense fallback={<Loading rows={3} what={common("drawing")} />}>
              <ProcessGraph
                canvas={graph.value}
                progress={states}
                chosen={step}
                onChoose={setStep}
              />
            </Suspense>
          ) : graph.problem !== null ? (
            <LoadError problem={graph.problem} retry={graph.reload} />
          ) : graph.value === null && graph.done ? (
            <p className="muted card">{t("noTemplate")}</p>
          ) : (
            <Loading rows={3} />
          )}
        </section>
        <section className="run-steps" aria-label={t("steps")}>
          <h2>{t("steps")}</h2>
          <StepList
            run={run}
            events={events.value ?? []}
            label={label}
            chosen={step}
            onChoose={setStep}
          />
        </section>
      </div>
      {step !== null && (
        <StepDetail
          run={run}
          step={step}
          node={graph.value?.nodes.find((node) => node.id === step) ?? null}
          label={label(step)}
          onClose={() => setStep(null)}
        />
      )}
      <div className="run-columns even">
        <section className="card">
          <h2>{t("history")}</h2>
          {archived !== null ? (
            <p className="muted">{t("inArchive")}</p>
          ) : events.value === null ? (
            events.problem === null ? (
              <Loading rows={3} />
            ) : (
              <LoadError problem={events.problem} retry={events.reload} />
            )
          ) : (
            <History events={events.value} label={label} />
          )}
        </section>
        <section className="card">
          <h2>{t("inputs")}</h2>
          {Object.keys(run.inputs).length === 0 ? (
            <p className="muted">{archived === null ? t("noInputs") : t("inArchive")}</p>
          ) : (
            <ValueTable values={run.inputs} />
          )}
          <p className="muted small">
            {t("runVersion", {
              id: <code>{run.id}</code>,
              version: String(run.template.version),
            })}{" "}
            {t(run.auto_resolve ? "safeAutomatic" : "everyWaits")}
          </p>
          <DownloadButton
            path={`/process-runs/${run.id}/${archived === null ? "audit" : "archive"}`}
            name={`run-${run.id}.json`}
            text={archived === null ? t("downloadAudit") : t("downloadArchive")}
          />
        </section>
      </div>
    </article>
  );
}

/** Whether a run is held, redacted or archived. */
function KeepNotice({ run }: { run: RetainedRun }) {
  const nameOf = useNames();
  return (
    <>
      {run.hold != null && (
        <Note kind="info" title={t("heldBy", { name: nameOf(run.hold.held_by) })}>
          <p>
            <Text text={run.hold.reason} />
          </p>
        </Note>
      )}
      {(run.redactions ?? []).map((one) => (
        <Note
          key={one.number}
          kind="info"
          title={t("redactedBy", { name: nameOf(one.redacted_by) })}
        >
          <p>
            <Text text={one.pointers.join(", ")} />, <TimeAgo at={one.redacted_at} />:{" "}
            <Text text={one.reason} />
          </p>
        </Note>
      ))}
      {run.archived != null && (
        <Note kind="info" title={t("archived")}>
          <p>{t("archivedHint", { at: <TimeAgo at={run.archived.archived_at} /> })}</p>
        </Note>
      )}
    </>
  );
}

/** A notice about the state of a run, if it needs one. */
function RunNotice({ run, label }: { run: Run; label: (id: string) => string }) {
  const nameOf = useNames();
  if (run.status === "failed" && run.error !== null) {
    return (
      <Note
        kind="bad"
        title={
          run.error.step_id === null
            ? t("runFailed")
            : t("stepFailed", { step: label(run.error.step_id).slice(0, 120) })
        }
      >
        <p>
          <Text text={run.error.detail} /> {t("stepsKept")}
        </p>
      </Note>
    );
  }
  if (run.ended?.reason) {
    return (
      <Note
        kind="info"
        title={t("cancelledBy", { who: run.ended.by ? nameOf(run.ended.by) : t("somebody") })}
      >
        <p>
          <Text text={run.ended.reason} />
        </p>
      </Note>
    );
  }
  if (run.status === "completed" && run.trace.every((visit) => visit.verdict === null)) {
    return (
      <Note kind="good" title={t("withoutDecision")}>
        <p>{t("allSafe")}</p>
      </Note>
    );
  }
  return null;
}

function GateLinks({ run }: { run: Run }) {
  const { role } = useAccount();
  const rows = useGateRows(`run_id=${run.id}&limit=200`) ?? [];
  const mayAt = (gate: Gate) =>
    rows.find((row) => row.gate.step_id === gate.step_id)?.can_decide ??
    (gate.function?.bound !== true && mayDecide(role, gate.role));
  return run.gates.map((gate) => {
    const mine = mayAt(gate);
    return (
      <a
        key={gate.step_id}
        className={mine ? "button primary" : "button"}
        href={linkTo("runs", run.id, "gates", gate.step_id)}
      >
        <Icon name="gate" />
        <span>
          {t(mine ? "decide" : "waitsForOthers", {
            gate: <Label text={asked(gate)} maxLength={90} />,
          })}
        </span>
      </a>
    );
  });
}
