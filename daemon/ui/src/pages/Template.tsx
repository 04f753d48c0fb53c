/** A template: what it does, where people decide, its picture, and a form to start a run. */

import { type FormEvent, lazy, Suspense, useRef, useState } from "react";
import { freshKey, post, type Problem } from "../api";
import { asProblem, canvas, template, useLoad } from "../hooks";
import { pretty } from "../json";
import { Heading, Loading, Note, TierBadge, Trouble } from "../parts/Bits";
import { Check, Field } from "../parts/Field";
import { Icon } from "../parts/Icon";
import { blanks, collect, Inputs, filled, type Texts } from "../parts/Inputs";
import { Label } from "../parts/Text";
import { go, to } from "../router";
import { an } from "../sentences";
import type { Canvas, Facts, Run, TemplateDetail } from "../types";
import { decisionWord, EFFECT, kindWord } from "../words";

const Picture = lazy(() => import("../graph/Picture"));

export function TemplatePage({ vertical }: { vertical: string }) {
  const { value, problem, reload } = useLoad(`template ${vertical}`, () => template(vertical));
  const graph = useLoad(`canvas ${vertical}`, () => canvas(vertical));
  const [step, setStep] = useState<string | null>(null);
  if (value === null) return problem === null ? <Loading rows={6} what="Loading the template" /> : <Trouble problem={problem} retry={reload} />;
  return (
    <article className="template">
      <nav className="crumbs" aria-label="Where you are">
        <a href="#/templates">
          <Icon name="back" size={16} /> Templates
        </a>
      </nav>
      <Heading title={value.title} name={<Label text={value.title} />}>
        <p className="lead">
          <Label text={value.description} most={1_000} />
        </p>
      </Heading>
      <div className="run-columns start-columns">
        <Start one={value} />
        <div>
          <section className="card">
            <h2>Where people decide</h2>
            {graph.value === null ? <Loading rows={2} /> : <Gates canvas={graph.value} />}
          </section>
          <section className="template-picture" aria-label="The template as a picture">
            {graph.value === null ? (
              graph.problem === null ? <Loading rows={3} /> : <Trouble problem={graph.problem} retry={graph.reload} />
            ) : (
              <Suspense fallback={<Loading rows={3} what="Drawing the picture" />}>
                <Picture canvas={graph.value} chosen={step} onChoose={(id) => setStep(step === id ? null : id)} />
              </Suspense>
            )}
          </section>
          {step !== null && graph.value !== null && <NodeDetail canvas={graph.value} id={step} />}
        </div>
      </div>
    </article>
  );
}

function Gates({ canvas: found }: { canvas: Canvas }) {
  return (
    <ul className="gates">
      {found.nodes
        .filter((node) => node.gate)
        .map((node) => (
          <li key={node.id}>
            <TierBadge tier={node.tier} />
            <span>
              <strong>
                <Label text={node.label} />
              </strong>
              <br />
              <small className="muted">
                {node.decisions.map(decisionWord).join(", ")}
                {node.role !== null && ` · by ${an(node.role)}`}
              </small>
            </span>
          </li>
        ))}
    </ul>
  );
}

function NodeDetail({ canvas: found, id }: { canvas: Canvas; id: string }) {
  const node = found.nodes.find((one) => one.id === id);
  if (node === undefined) return null;
  return (
    <section className="card" role="status">
      <h2>
        <Label text={node.label} />
      </h2>
      <p className="badges">
        <span className="muted">{kindWord(node)}</span>
        {node.kind !== "end" && <TierBadge tier={node.tier} />}
        {node.effect !== null && <span className="muted">{EFFECT[node.effect]}</span>}
        {node.tool !== null && (
          <a href={to("connectors", node.tool)}>
            tool <Label text={node.tool} />
          </a>
        )}
      </p>
    </section>
  );
}

function Start({ one }: { one: TemplateDetail }) {
  const schema = one.inputs_schema;
  const [texts, setTexts] = useState<Texts>(() => blanks(schema));
  const [raw, setRaw] = useState<string | null>(schema.properties === undefined ? "{}" : null);
  const [auto, setAuto] = useState(true);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [mistakes, setMistakes] = useState<Map<string, string>>(new Map());
  const submit = useRef<HTMLButtonElement>(null);
  const sent = useRef<{ body: string; key: string } | null>(null);

  async function start(event: FormEvent) {
    event.preventDefault();
    if (busy) return;
    const found = collect(schema, texts, raw);
    setMistakes(found.mistakes);
    setProblem(null);
    if (found.mistakes.size > 0) return;
    setBusy(true);
    const body = { vertical: one.vertical, inputs: found.inputs, auto_resolve: auto };
    const text = pretty(body as Facts);
    if (sent.current?.body !== text) sent.current = { body: text, key: freshKey() };
    try {
      const run = await post<Run>("/process-runs/", body, sent.current.key);
      const [gate] = run.gates;
      go(gate === undefined ? to("runs", run.id) : to("runs", run.id, "gates", gate.step_id));
    } catch (error) {
      const refused = asProblem(error);
      setProblem(refused);
      setMistakes(refused.fields);
      setBusy(false);
    }
  }

  const example = () => {
    setTexts(filled(schema, one.inputs));
    if (raw !== null) setRaw(pretty(one.inputs));
    setMistakes(new Map());
    setProblem(null);
    // What somebody wants next; in a long form it would be out of sight.
    submit.current?.focus();
  };
  return (
    <form className="card start" onSubmit={(event) => void start(event)} noValidate>
      <h2>Start a run</h2>
      <button type="button" className="button" onClick={example}>
        <Icon name="templates" /> Fill in the example
      </button>
      {raw === null ? <Inputs schema={schema} texts={texts} onChange={setTexts} mistakes={mistakes} /> : <Field label="Inputs as JSON" rows={10} value={raw} onChange={setRaw} required error={mistakes.get("/inputs")} />}
      <Check
        label="Let safe steps run by themselves"
        hint="Off: every single step waits for a person, whatever its risk."
        checked={auto}
        onChange={setAuto}
      />
      {mistakes.size > 0 && <Note kind="bad" title="Something is missing or not right; see above." />}
      {problem !== null && problem.fields.size === 0 && (
        <Note kind="bad" title={problem.unsure ? "The answer got lost. Start it again: it is started only once." : problem.message} />
      )}
      <button ref={submit} type="submit" className="button primary wide" disabled={busy}>
        {busy ? "Starting…" : "Start the run"}
      </button>
    </form>
  );
}
