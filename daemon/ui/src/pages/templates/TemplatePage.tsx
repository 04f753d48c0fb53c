/** A template: description, gates, graph, and a form to start a run. */

import { type FormEvent, lazy, Suspense, useRef, useState } from "react";
import { get, newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import { prettyPrint } from "../../api/json";
import { getCanvas, getTemplate } from "../../api/resources";
import type { Canvas, GraphNode, Run, TemplateDetail, Values } from "../../api/types";
import { TierBadge } from "../../components/Badges";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Check, Field } from "../../components/Field";
import { Breadcrumbs, Heading } from "../../components/Heading";
import { FieldErrors } from "../../components/FieldErrors";
import { Icon } from "../../components/Icon";
import { SchemaFields } from "../../components/SchemaFields";
import {
  collectValues,
  emptyTexts,
  type FieldTexts,
  textsFrom,
  undrawn,
} from "../../components/schemaValues";
import { Label } from "../../components/Text";
import { linkTo, navigate, useRoute } from "../../state/router";
import { useAccount } from "../../state/session";
import { getUsage } from "../../state/usage";
import { useLoad } from "../../state/useLoad";
import {
  decisionLabel,
  effectLabel,
  isAtLeast,
  nodeKindLabel,
  aRole,
  rolesFrom,
} from "../../text/labels";
import { roleSentence } from "../../text/people";

import { ClockRules } from "./ClockRules";
import { hasOffices, Offices } from "./Offices";
import { hasJudges, Judges } from "./Judges";
import { Rules } from "./Rules";
import { ToolsNeeded, UseTemplate } from "./UseTemplate";
import { Versions } from "./Versions";
import { common } from "../../text/en/common";
import { panel } from "../../text/en/panel";
import { labels } from "../../text/en/labels";
import { readers } from "../../text/en/readers";
import { templates as t } from "../../text/en/templates";

const ProcessGraph = lazy(() => import("../../graph/ProcessGraph"));

export default function TemplatePage({ vertical }: { vertical: string }) {
  const { value, problem, reload } = useLoad(`template ${vertical}`, () => getTemplate(vertical));
  const graph = useLoad(`canvas ${vertical}`, () => getCanvas(vertical));
  const [step, setStep] = useState<string | null>(null);
  if (value === null)
    return problem === null ? (
      <Loading rows={6} what={t("loading")} />
    ) : (
      <LoadError problem={problem} retry={reload} />
    );
  return (
    <article className="template">
      <Breadcrumbs href="#/templates" text={t("templates")} />
      <Heading title={value.title} name={<Label text={value.title} />}>
        <p className="lead">
          <Label text={value.description} maxLength={1_000} />
        </p>
      </Heading>
      <div className="run-columns start-columns">
        <StartForm template={value} />
        <div>
          <section className="card">
            <h2>{t("gates")}</h2>
            {graph.value === null ? <Loading rows={2} /> : <GateList canvas={graph.value} />}
          </section>
          {graph.value !== null && graph.value.clocks.length > 0 && (
            <section className="card">
              <ClockRules canvas={graph.value} />
            </section>
          )}
          {graph.value !== null && hasOffices(graph.value) && (
            <section className="card">
              <Offices canvas={graph.value} />
              <a className="small" href={linkTo("people", "readers", vertical)}>
                {readers("show")}
              </a>
            </section>
          )}
          {graph.value !== null && hasJudges(graph.value) && (
            <section className="card">
              <h2>{panel("title")}</h2>
              <Judges canvas={graph.value} />
            </section>
          )}
          <section className="template-graph" aria-label={t("graph")}>
            {graph.value === null ? (
              graph.problem === null ? (
                <Loading rows={3} />
              ) : (
                <LoadError problem={graph.problem} retry={graph.reload} />
              )
            ) : (
              <Suspense fallback={<Loading rows={3} what={common("drawing")} />}>
                <ProcessGraph
                  canvas={graph.value}
                  chosen={step}
                  onChoose={(id) => setStep(step === id ? null : id)}
                />
              </Suspense>
            )}
          </section>
          {step !== null && graph.value !== null && <NodeDetail canvas={graph.value} id={step} />}
          <section className="card">
            <h2>{t("tools")}</h2>
            <ToolsNeeded vertical={vertical} />
            {!value.own && <InUse template={value} />}
          </section>
          {value.rules.length > 0 && (
            <section className="card">
              <Rules vertical={vertical} />
            </section>
          )}
          <Versions vertical={vertical} />
        </div>
      </div>
    </article>
  );
}

/** Whether the company has chosen the template; admins choose it. */
function InUse({ template }: { template: TemplateDetail }) {
  const { company } = useAccount();
  const { value, reload } = useLoad(`usage ${company.id}`, () => getUsage(company.id));
  if (value === null) return null;
  return (
    <div className="actions">
      <UseTemplate
        vertical={template.vertical}
        title={template.title}
        chosen={value.chosen.includes(template.vertical)}
        onChanged={reload}
      />
    </div>
  );
}

function GateList({ canvas: found }: { canvas: Canvas }) {
  const gates = found.nodes.filter((node) => node.gate);
  if (gates.length === 0) return <p className="muted">{t("noGate")}</p>;
  return (
    <ul className="gates">
      {gates.map((node) => (
        <li key={node.id}>
          <TierBadge tier={node.tier} />
          <span>
            <strong>
              <Label text={node.label} />
            </strong>
            <br />
            <small className="muted">
              {node.decisions.map(decisionLabel).join(", ")}
              {whoDecides(node, found)}
            </small>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** “ · by Medical director”, “ · by a manager”. */
function whoDecides({ role, policy }: GraphNode, { functions }: Canvas): string {
  const id = policy?.function ?? null;
  if (id === null) return role === null ? "" : ` · ${t("byRole", { role: aRole(role) })}`;
  return ` · ${t("byRole", { role: functions[id]?.label ?? id })}`;
}

function NodeDetail({ canvas: found, id }: { canvas: Canvas; id: string }) {
  const node = found.nodes.find((step) => step.id === id);
  if (node === undefined) return null;
  return (
    <section className="card" role="status">
      <h2>
        <Label text={node.label} />
      </h2>
      <p className="badges">
        <span className="muted">{nodeKindLabel(node)}</span>
        {node.kind !== "end" && <TierBadge tier={node.tier} />}
        {node.effect !== null && <span className="muted">{effectLabel(node.effect)}</span>}
        {node.tool !== null && (
          <a href={linkTo("connectors", node.tool)}>
            {t("tool", { tool: <Label text={node.tool} /> })}
          </a>
        )}
      </p>
      {node.duty !== null && (
        <p>
          <Label text={t("duty", { rule: node.duty })} maxLength={200} />
        </p>
      )}
      {Object.entries(node.ends_clocks).map(([clock, why]) => (
        <p key={clock}>
          <Label
            text={t("endsClock", {
              clock: found.clocks.find((one) => one.id === clock)?.label ?? clock,
              why,
            })}
            maxLength={600}
          />
        </p>
      ))}
    </section>
  );
}

function StartForm({ template }: { template: TemplateDetail }) {
  const schema = template.inputs_schema;
  const filled = useRoute().query.get("example") !== null;
  const [texts, setTexts] = useState<FieldTexts>(() =>
    filled ? textsFrom(schema, template.inputs) : emptyTexts(schema),
  );
  const [raw, setRaw] = useState<string | null>(() =>
    schema.properties !== undefined ? null : filled ? prettyPrint(template.inputs) : "{}",
  );
  const [key, setKey] = useState("");
  const [auto, setAuto] = useState(true);
  const [busy, setBusy] = useState(false);
  const [closed, setClosed] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [errors, setErrors] = useState<Map<string, string>>(new Map());
  const { role } = useAccount();
  const submit = useRef<HTMLButtonElement>(null);
  const sent = useRef<{ body: string; key: string } | null>(null);

  async function start(event: FormEvent) {
    event.preventDefault();
    if (busy) return;
    const found = collectValues(schema, texts, raw);
    setErrors(found.errors);
    setProblem(null);
    setClosed("");
    if (found.errors.size > 0) return;
    setBusy(true);
    const body = {
      vertical: template.vertical,
      inputs: found.inputs,
      auto_resolve: auto,
      ...(key.trim() === "" ? {} : { business_key: key.trim() }),
    };
    const text = prettyPrint(body as Values);
    if (sent.current?.body !== text) sent.current = { body: text, key: newIdempotencyKey() };
    try {
      const run = await post<Run>("/process-runs/", body, sent.current.key);
      // Who may not read it is told its id and nothing else.
      if (run.trace.length === 0 && (await isClosed(run.id))) {
        sent.current = null;
        setBusy(false);
        return setClosed(run.id);
      }
      const [gate] = run.gates;
      navigate(
        gate === undefined ? linkTo("runs", run.id) : linkTo("runs", run.id, "gates", gate.step_id),
      );
    } catch (error) {
      const refused = toProblem(error);
      setProblem(refused);
      setErrors(refused.fields);
      setBusy(false);
    }
  }

  const sample = textsFrom(schema, template.inputs);
  const isExample =
    raw === null
      ? Object.entries(sample).every(([name, text]) => texts[name] === text)
      : raw === prettyPrint(template.inputs);
  const example = () => {
    setTexts(textsFrom(schema, template.inputs));
    if (raw !== null) setRaw(prettyPrint(template.inputs));
    setErrors(new Map());
    setProblem(null);
    // The next step for the user, possibly out of sight in a long form.
    submit.current?.focus();
  };
  if (!isAtLeast(role, "member"))
    return (
      <Note
        kind="info"
        title={`${t("rolesStart", { roles: rolesFrom("member") })} ${roleSentence(role)}`}
      />
    );
  return (
    <form className="card start" onSubmit={(event) => void start(event)} noValidate>
      <h2>{t("startRun")}</h2>
      {!isExample && (
        <button type="button" className="button" onClick={example}>
          <Icon name="templates" /> {t("fillExample")}
        </button>
      )}
      {raw === null ? (
        <>
          {undrawn(schema).length > 0 && (
            <Note kind="warn" title={t("filledAsJson", { names: undrawn(schema).join(", ") })} />
          )}
          <SchemaFields schema={schema} texts={texts} onChange={setTexts} errors={errors} />
        </>
      ) : (
        <Field
          label={t("inputsJson")}
          rows={10}
          value={raw}
          onChange={setRaw}
          required
          error={errors.get("/inputs")}
        />
      )}
      <Field
        label={labels("businessKey")}
        hint={t("keyHint")}
        value={key}
        onChange={setKey}
        error={errors.get("/business_key")}
      />
      <Check label={t("auto")} hint={t("autoHint")} checked={auto} onChange={setAuto} />
      <FieldErrors errors={errors} />
      {problem !== null && problem.fields.size === 0 && (
        <Note kind="bad" title={problem.outcomeUnknown ? t("responseLost") : problem.message} />
      )}
      {closed !== "" && (
        <Note kind="good" title={readers("startedClosed")}>
          <p>
            <code>{closed}</code>
          </p>
        </Note>
      )}
      <button ref={submit} type="submit" className="button primary wide" disabled={busy}>
        {busy ? t("starting") : t("startIt")}
      </button>
    </form>
  );
}

function isClosed(run: string): Promise<boolean> {
  return get(`/process-runs/${run}`).then(
    () => false,
    (error: unknown) => toProblem(error).status === 404,
  );
}
