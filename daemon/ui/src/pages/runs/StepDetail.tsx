/** The details of a step: state, decision, request, response and duration. */

import { useEffect, useRef } from "react";
import type { Gate, GraphNode, Run, TraceEntry } from "../../api/types";
import { StepBadge, TierBadge } from "../../components/Badges";
import { CallDetail } from "../../components/CallDetail";
import { Icon } from "../../components/Icon";
import { PersonName } from "../../components/record/PersonName";
import { ProposalList } from "../../components/record/ProposalList";
import { Label, Text } from "../../components/Text";
import { Value } from "../../components/ValueTable";
import { effectLabel, formatDuration, formatTime, nodeKindLabel } from "../../text/labels";
import { callState, describeDecision, ordinal, stepReason } from "../../text/sentences";
import { common } from "../../text/en/common";
import { runs as t } from "../../text/en/runs";

interface Props {
  run: Run;
  step: string;
  node: GraphNode | null;
  label: string;
  onClose: () => void;
}

export function StepDetail({ run, step, node, label, onClose }: Props) {
  const ref = useRef<HTMLElement>(null);
  const visits = run.trace.filter((visit) => visit.step_id === step);
  useEffect(() => {
    ref.current?.scrollIntoView({ block: "nearest" });
    ref.current?.focus({ preventScroll: true });
  }, [step]);
  return (
    <section ref={ref} className="card detail" tabIndex={-1} aria-label={t("selectedStep")}>
      <header>
        <h2>
          <Label text={label} />
        </h2>
        <button type="button" className="button" onClick={onClose}>
          <Icon name="close" /> {common("close")}
        </button>
      </header>
      {node !== null && (
        <p className="badges">
          <span className="muted">{nodeKindLabel(node)}</span>
          {node.kind !== "end" && <TierBadge tier={node.tier} />}
          {node.effect !== null && <span className="muted">{effectLabel(node.effect)}</span>}
          {node.tool !== null && (
            <span className="muted">
              {t("tool", {
                tool: (
                  <code>
                    <Label text={node.tool} />
                  </code>
                ),
              })}
            </span>
          )}
        </p>
      )}
      {visits.length === 0 ? (
        <p className="muted">{t("notReached")}</p>
      ) : (
        visits.map((visit) => (
          <VisitDetail
            key={visit.visit}
            visit={visit}
            gate={run.gates.find((gate) => gate.step_id === step && gate.visit === visit.visit)}
            many={visits.length > 1}
          />
        ))
      )}
    </section>
  );
}

function VisitDetail({
  visit,
  gate,
  many,
}: {
  visit: TraceEntry;
  gate: Gate | undefined;
  many: boolean;
}) {
  return (
    <div className="visit">
      {many && <h3>{t("nthTime", { nth: ordinal(visit.visit) })}</h3>}
      <dl className="facts">
        <div>
          <dt>{t("state")}</dt>
          <dd>
            <StepBadge state={visit.status} />
          </dd>
        </div>
        <div>
          <dt>{t("started")}</dt>
          <dd>
            {formatTime(visit.started_at)}
            {visit.ended_at !== null &&
              `, ${t("took", { time: formatDuration(visit.started_at, visit.ended_at) })}`}
          </dd>
        </div>
        {visit.reason !== null && (
          <div>
            <dt>{t("reason")}</dt>
            <dd>
              <Text text={stepReason(visit.reason)} />
            </dd>
          </div>
        )}
        {gate !== undefined && gate.proposals.length > 0 && (
          <div>
            <dt>{t("proposals")}</dt>
            <dd>
              <ProposalList proposals={gate.proposals} />
            </dd>
          </div>
        )}
        {visit.verdict !== null && (
          <div>
            <dt>{t("decision")}</dt>
            <dd>
              {t("decidedOn", {
                who: (
                  <PersonName
                    by={visit.verdict.by}
                    kind={visit.verdict.by_kind}
                    giver={visit.verdict.on_behalf_of}
                  />
                ),
                did: describeDecision(visit.verdict.decision),
                at: formatTime(visit.verdict.at),
              })}
              {visit.verdict.comment !== null && (
                <blockquote>
                  <Text text={visit.verdict.comment} />
                </blockquote>
              )}
            </dd>
          </div>
        )}
        {visit.attempts > 1 && (
          <div>
            <dt>{t("attempts")}</dt>
            <dd>{visit.attempts}</dd>
          </div>
        )}
        {visit.error !== null && (
          <div>
            <dt>{t("error")}</dt>
            <dd>
              <Text text={visit.error.detail} />
              {visit.error.excerpt !== null && (
                <pre tabIndex={0}>
                  <Text text={visit.error.excerpt} />
                </pre>
              )}
            </dd>
          </div>
        )}
        {visit.kind === "task" && visit.status === "done" && (
          <div>
            <dt>{t("response")}</dt>
            <dd>
              <Value value={visit.output} />
            </dd>
          </div>
        )}
      </dl>
      {visit.request !== null && <CallDetail call={visit.request} state={callState(visit, gate)} />}
    </div>
  );
}
