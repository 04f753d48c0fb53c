/** A gate: what is asked, on what grounds, what each decision leads to, and the decision itself. */

import { useEffect, useMemo, useRef, useState } from "react";
import type { Shown } from "../changes";
import { canvasOf, connectors, template, templates, useLoad, useRun } from "../hooks";
import { take } from "../inbox";
import { useLive } from "../live";
import { ForHowLong, Heading, Loading, Note, TierBadge, Trouble } from "../parts/Bits";
import { CallView } from "../parts/CallView";
import { Decide } from "../parts/Decide";
import { Effects } from "../parts/Effects";
import { Table } from "../parts/Facts";
import { Icon } from "../parts/Icon";
import { closedBy, Done, type Given, NotWaiting } from "../parts/Outcome";
import { Label, Text } from "../parts/Text";
import { to } from "../router";
import { hits, ordinal, OUTCOME_UNKNOWN, question, whyItWaits } from "../sentences";
import { useAccount } from "../session";
import type { Gate, GraphNode, Json, Run } from "../types";
import { named } from "../words";
import { Changes } from "../parts/Changes";
import { telling, useTitles } from "./Inbox";

export function GatePage({ run: id, step }: { run: string; step: string }) {
  const { value: run, problem, reload, set } = useRun(id);
  const { user } = useAccount();
  const [shown, setShown] = useState<Shown | null>(null);
  const [given, setGiven] = useState<Given | null>(null);
  const [answered, setAnswered] = useState(false);
  const now = run?.gates.find((gate) => gate.step_id === step);
  const newest = useRef(run);
  newest.current = run;
  useEffect(() => {
    if (run !== null) take(run);
    if (shown === null && run !== null && now !== undefined) setShown({ run, gate: now });
  }, [run, now, shown]);
  if (run === null) return problem === null ? <Loading what="Loading the gate" /> : <Trouble problem={problem} retry={reload} />;
  if (given !== null && (answered || closedBy(run, given, user.email) !== undefined)) {
    const back = () => {
      setGiven(null);
      setAnswered(false);
      setShown(null);
    };
    return <Done given={given} run={run} reload={reload} onBack={back} />;
  }
  if (shown === null) return now === undefined ? <NotWaiting run={run} step={step} visit={null} reload={reload} /> : <Loading />;
  if (now === undefined) return <NotWaiting run={run} step={step} visit={shown.gate.visit} reload={reload} />;
  const stands = { run, gate: now };
  return (
    <Asked
      shown={shown}
      changed={now.digest === shown.gate.digest ? null : stands}
      onSeen={() => setShown(stands)}
      onSent={setGiven}
      onGiven={(next) => {
        setAnswered(true);
        // The stream may have been quicker than the answer.
        if (next.version >= (newest.current?.version ?? 0)) set(next);
        take(next);
      }}
      onRefused={(unsure) => {
        if (!unsure) setGiven(null);
        reload();
      }}
    />
  );
}

interface AskedProps {
  shown: Shown;
  changed: Shown | null;
  onSeen: () => void;
  onSent: (given: Given) => void;
  onGiven: (run: Run) => void;
  onRefused: (unsure: boolean) => void;
}

function Asked({ shown, changed, onSeen, onSent, onGiven, onRefused }: AskedProps) {
  const { run, gate } = shown;
  const titles = useTitles();
  const { value: canvas, done } = useLoad(`canvas of ${run.id}`, () => canvasOf(run));
  const { value: bound, reload } = useLoad("connectors", connectors);
  useLive((events) => {
    if (events.length === 0) reload();
  });
  const mode = useMemo(() => {
    const live = new Set((bound ?? []).filter((one) => one.reversible).map((one) => one.tool_id));
    const listed = new Map((gate.effects ?? []).map((one) => [one.step_id, one.mode]));
    if (gate.effect !== null) listed.set(gate.step_id, gate.effect.mode);
    return (node: GraphNode) => listed.get(node.id) ?? (live.has(node.tool ?? "") ? "live" : "shadow");
  }, [bound, gate]);
  const labels = useMemo(() => new Map((canvas?.nodes ?? []).map((node) => [node.id, node.label])), [canvas]);
  const label = (id: string) => labels.get(id) ?? named(id);
  const asked = 1 + run.trace.filter((one) => one.step_id === gate.step_id && one.verdict !== null).length;
  const unknown = gate.reason === OUTCOME_UNKNOWN;
  return (
    <article className="gate">
      <nav className="crumbs" aria-label="Where you are">
        <a href="#/">
          <Icon name="back" size={16} /> Inbox
        </a>
        <a href={to("runs", run.id)}>
          The run: <Label text={titles.get(run.vertical) ?? run.vertical} most={60} />
        </a>
      </nav>
      <Heading title={gate.label} name={<Label text={gate.label} />}>
        <p className="badges">
          <TierBadge tier={gate.tier} />
          <span className="muted">
            {telling(run.inputs).map(([name, value]) => (
              <span key={name}>
                <Label text={named(name)} most={30} /> <Label text={value} most={60} /> ·{" "}
              </span>
            ))}
            waiting <ForHowLong at={gate.opened_at} />
            {asked > 1 && ` · asked for the ${ordinal(asked)} time`}
          </span>
        </p>
      </Heading>
      <div className="gate-columns">
        <div className="gate-main">
          <section className="card asked">
            <h2>What is asked</h2>
            <p className="question">
              <Question gate={gate} />
            </p>
            <About vertical={run.vertical} title={titles.get(run.vertical) ?? run.vertical} />
            <p>
              <strong>Why it waits:</strong> <Text text={whyItWaits(gate, label)} />
            </p>
            <a
              className="button narrow-only"
              href="#decide"
              onClick={(event) => {
                event.preventDefault();
                document.getElementById("decide")?.focus();
              }}
            >
              Go to the decision
            </a>
          </section>
          {gate.effect !== null && (
            <section className="card">
              <h2>{unknown ? "The call in question" : "What an approval does at once"}</h2>
              <CallView call={gate.effect} state={unknown ? "unknown" : "ahead"} />
            </section>
          )}
          {gate.effects !== undefined && <Effects gate={gate} effects={gate.effects} />}
          <Grounds run={run} gate={gate} label={label} />
        </div>
        <div className="gate-side">
          {changed !== null && (
            <div className="changed">
              <Changes before={shown} after={changed} onSeen={onSeen} />
            </div>
          )}
          <Decide shown={shown} canvas={canvas} unknown={done && canvas === null} mode={mode} blocked={changed !== null} onSent={onSent} onGiven={onGiven} onRefused={onRefused} />
        </div>
      </div>
    </article>
  );
}

function Question({ gate }: { gate: Gate }) {
  const found = question(gate);
  if (found === null) return <>A person signs here before the run goes on. Do you approve?</>;
  return (
    <>
      {found[0]}
      <Label text={gate.label} />
      {found[1]}
    </>
  );
}

/** What the process is for, so that nobody has to know it. */
function About({ vertical, title }: { vertical: string; title: string }) {
  const { value } = useLoad("templates", templates);
  const found = value?.find((one) => one.vertical === vertical);
  return (
    <p>
      <strong>
        <Label text={title} most={80} />:
      </strong>{" "}
      {found === undefined ? null : <Label text={found.description} most={300} />}
    </p>
  );
}

/** What the decision rests on: what was handed in, and what each step has found. */
function Grounds({ run, gate, label }: { run: Run; gate: Gate; label: (step: string) => string }) {
  const { value: detail } = useLoad(`template ${run.vertical}`, () => template(run.vertical));
  const found = latestFirst(run);
  const made = found.filter(([step]) => shadowed(run, step));
  return (
    <>
      <section className="card">
        <h2>What the steps so far have found</h2>
        {made.length > 0 && made.length === found.length && <p className="muted small gap">The latest first. These are sample answers of the template, since the steps were shadowed.</p>}
        {found.length === 0 ? (
          <p className="muted">No step has found anything yet.</p>
        ) : (
          found.map(([step, value]) => (
            <div className="found" key={step}>
              <h3>
                <Label text={label(step)} />
                {made.length < found.length && shadowed(run, step) && <small className="muted"> a sample answer: the step was shadowed</small>}
              </h3>
              {typeof value === "object" && value !== null && !Array.isArray(value) && !("text" in value && Object.keys(value).length === 1) ? (
                <Table values={value as Run["facts"]} />
              ) : (
                <Table values={{ answer: value }} />
              )}
            </div>
          ))
        )}
        {gate.signals.length > 0 && <Note kind="warn" title={hits(gate.signals, label)} />}
      </section>
      <section className="card">
        <h2>What was handed in</h2>
        {Object.keys(run.inputs).length === 0 ? <p className="muted">Nothing was handed in with this run.</p> : <Table values={run.inputs} hints={detail?.inputs_schema.properties ?? {}} />}
      </section>
    </>
  );
}

function shadowed(run: Run, step: string): boolean {
  return run.trace.filter((one) => one.step_id === step).at(-1)?.mode === "shadow";
}

/** What was found last matters most. */
function latestFirst(run: Run): [string, Json][] {
  const at = (step: string) => run.trace.findLastIndex((one) => one.step_id === step);
  return Object.entries(run.facts).sort(([one], [other]) => at(other) - at(one));
}
