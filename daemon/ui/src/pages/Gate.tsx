/** A gate: what is asked, on what grounds, what each decision leads to, and the decision itself. */

import { useEffect, useMemo, useState } from "react";
import { canvasOf, connectors, template, templates, useLoad, useRun } from "../hooks";
import { take } from "../inbox";
import { Heading, Loading, Note, TierBadge, Trouble, When } from "../parts/Bits";
import { CallView } from "../parts/CallView";
import { Decide } from "../parts/Decide";
import { Table } from "../parts/Facts";
import { Icon } from "../parts/Icon";
import { Done, type Given, NotWaiting } from "../parts/Outcome";
import { Label, Text } from "../parts/Text";
import { to } from "../router";
import type { Canvas, Gate, Json, Run } from "../types";
import { named, whyItWaits } from "../words";
import { Changes, type Shown } from "../parts/Changes";
import { telling, useTitles } from "./Inbox";

export function GatePage({ run: id, step }: { run: string; step: string }) {
  const { value: run, problem, reload, set } = useRun(id);
  const [shown, setShown] = useState<Shown | null>(null);
  const [given, setGiven] = useState<Given | null>(null);
  const now = run?.gates.find((gate) => gate.step_id === step);
  useEffect(() => {
    if (run !== null) take(run);
    if (shown === null && run !== null && now !== undefined) setShown({ run, gate: now });
  }, [run, now, shown]);
  if (run === null) return problem === null ? <Loading what="Loading the gate" /> : <Trouble problem={problem} retry={reload} />;
  if (given !== null) return <Done given={given} run={run} onBack={() => (setGiven(null), setShown(null))} />;
  if (shown === null) return now === undefined ? <NotWaiting run={run} step={step} visit={null} /> : <Loading />;
  if (now === undefined) return <NotWaiting run={run} step={step} visit={shown.gate.visit} />;
  const stands = { run, gate: now };
  return (
    <Asked
      shown={shown}
      changed={now.digest === shown.gate.digest ? null : stands}
      onSeen={() => setShown(stands)}
      onGiven={(next) => {
        setGiven(next);
        set(next.run);
        take(next.run);
      }}
      onRefused={reload}
    />
  );
}

interface AskedProps {
  shown: Shown;
  changed: Shown | null;
  onSeen: () => void;
  onGiven: (given: Given) => void;
  onRefused: () => void;
}

function Asked({ shown, changed, onSeen, onGiven, onRefused }: AskedProps) {
  const { run, gate } = shown;
  const titles = useTitles();
  const { value: canvas, done } = useLoad(`canvas of ${run.id}`, () => canvasOf(run));
  const { value: bound } = useLoad("connectors", connectors);
  const live = useMemo(() => {
    const tools = new Set((bound ?? []).filter((one) => one.reversible).map((one) => one.tool_id));
    return (tool: string) => tools.has(tool);
  }, [bound]);
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
            waiting since <When at={gate.opened_at} />
            {gate.visit > 1 && ` · asked for the ${gate.visit}. time`}
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
              <strong>Why it waits:</strong> <Text text={whyItWaits(gate)} />
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
              <h2>{gate.decisions.includes("retry") ? "The call in question" : "What an approval does at once"}</h2>
              <CallView call={gate.effect} ahead={!gate.decisions.includes("retry")} />
            </section>
          )}
          <Grounds run={run} canvas={canvas} />
        </div>
        <div className="gate-side">
          {changed !== null && <Changes before={shown} after={changed} onSeen={onSeen} />}
          <Decide shown={shown} canvas={canvas} unknown={done && canvas === null} isLive={live} blocked={changed !== null} onGiven={onGiven} onRefused={onRefused} />
        </div>
      </div>
    </article>
  );
}

function Question({ gate }: { gate: Gate }) {
  if (gate.reason === "outcome unknown") return <>Was the call of “<Label text={gate.label} />” carried out?</>;
  if (gate.kind === "gateway") return <>Which way should the run go on from “<Label text={gate.label} />”?</>;
  if (gate.kind === "task") return <>May “<Label text={gate.label} />” be carried out?</>;
  return <>A person signs here before the run goes on. Do you approve?</>;
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
function Grounds({ run, canvas }: { run: Run; canvas: Canvas | null }) {
  const labels = new Map((canvas?.nodes ?? []).map((node) => [node.id, node.label]));
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
                <Label text={labels.get(step) ?? step} />
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
        <Signals run={run} />
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

function Signals({ run }: { run: Run }) {
  const signals = [...new Set(run.gates.flatMap((gate) => gate.signals))];
  if (signals.length === 0) return null;
  return <Note kind="warn" title={`A check has a hit: ${signals.join(", ")}`} />;
}
