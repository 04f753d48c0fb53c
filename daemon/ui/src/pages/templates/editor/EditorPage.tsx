/** Write a process: the graph, the fields of its steps, all that is wrong, and publishing. */

import { lazy, Suspense, useState } from "react";
import { newIdempotencyKey, post, type Problem, toProblem } from "../../../api/client";
import { clearCache } from "../../../api/resources";
import type { PublishedVersion, Violation } from "../../../api/types";
import { Dialog } from "../../../components/Dialog";
import { LoadError, Loading, Note } from "../../../components/Feedback";
import { Field } from "../../../components/Field";
import { Breadcrumbs, Heading } from "../../../components/Heading";
import { Icon } from "../../../components/Icon";
import { Label } from "../../../components/Text";
import { linkTo, useRoute } from "../../../state/router";
import { useAccount } from "../../../state/session";
import { isAtLeast } from "../../../text/labels";
import { rolesSentence } from "../../../text/people";
import { countOf } from "../../../text/sentences";
import { added, KIND_NAMES, type StepKind, stepOf } from "./document";
import { StepPanel } from "./StepPanel";
import { type Editing, pathOf, type SaveState, useDraft } from "./useDraft";

const ProcessGraph = lazy(() => import("../../../graph/ProcessGraph"));
const TextView = lazy(() => import("./TextView"));
const SAVED: Record<SaveState, string> = {
  saved: "Saved",
  saving: "Saving…",
  unsaved: "Not saved yet",
  conflict: "Not saved",
  failed: "Not saved: the service refused it or cannot be reached",
};

export function EditorPage({ vertical }: { vertical: string }) {
  const title = useRoute().query.get("title") ?? vertical;
  const editing = useDraft(vertical, title);
  const { role } = useAccount();
  const [chosen, setChosen] = useState<string | null>(null);
  const [asText, setAsText] = useState(false);
  const { draft, check, problem } = editing;
  if (draft === null)
    return problem === null ? (
      <Loading rows={6} what="Loading the draft" />
    ) : (
      <LoadError problem={problem} retry={editing.loadTheirs} />
    );
  const step = stepOf(draft, chosen);
  const canvas = check?.canvas ?? null;
  if (!isAtLeast(role, "member"))
    return <Note kind="info" title={rolesSentence("member", "edits drafts")} />;
  return (
    <article className="editor">
      <Breadcrumbs href="#/templates" text="Templates" />
      <Heading title={`Edit ${draft.title}`} name={<Label text={`Edit ${draft.title}`} />}>
        <p className="muted" role="status">
          {editing.stored || editing.save !== "saved" ? SAVED[editing.save] : "No draft yet"}
        </p>
      </Heading>
      {editing.save === "conflict" && <Conflict editing={editing} />}
      <Toolbar
        editing={editing}
        chosen={chosen}
        onChoose={setChosen}
        asText={asText}
        onText={() => setAsText(!asText)}
      />
      <div className="editor-columns">
        {asText ? (
          <Suspense fallback={<Loading rows={6} />}>
            <TextView draft={draft} onChange={editing.change} />
          </Suspense>
        ) : (
          <section className="template-graph" aria-label="Graph of the draft">
            {canvas === null ? (
              <p className="muted card">
                {check === null
                  ? "The draft is being checked."
                  : "The graph can be drawn once every way leads to a step; see the findings."}
              </p>
            ) : (
              <Suspense fallback={<Loading rows={3} what="Drawing the graph" />}>
                <ProcessGraph
                  canvas={canvas}
                  chosen={chosen}
                  onChoose={(id) => setChosen(chosen === id ? null : id)}
                />
              </Suspense>
            )}
          </section>
        )}
        <div>
          <Findings editing={editing} onChoose={setChosen} />
          {step === undefined ? (
            <ProcessPanel editing={editing} onChoose={setChosen} />
          ) : (
            <StepPanel draft={draft} step={step} onChange={editing.change} onChoose={setChosen} />
          )}
        </div>
      </div>
    </article>
  );
}

function Conflict({ editing }: { editing: Editing }) {
  return (
    <Note kind="bad" title="Somebody else has changed this draft since you read it.">
      <div className="actions">
        <button type="button" className="button" onClick={editing.loadTheirs}>
          Load theirs
        </button>
        <button type="button" className="button" onClick={editing.keepMine}>
          Keep mine
        </button>
      </div>
    </Note>
  );
}

function Toolbar({
  editing,
  chosen,
  onChoose,
  asText,
  onText,
}: {
  editing: Editing;
  chosen: string | null;
  onChoose: (id: string) => void;
  asText: boolean;
  onText: () => void;
}) {
  const [kind, setKind] = useState<StepKind>("task");
  const { draft } = editing;
  const add = () => {
    if (draft === null) return;
    const made = added(draft, chosen, kind);
    editing.change(made.draft);
    onChoose(made.id);
  };
  return (
    <div className="toolbar" role="toolbar" aria-label="Editing">
      <Field
        label="Kind of the new step"
        value={kind}
        options={(Object.keys(KIND_NAMES) as StepKind[]).map((value) => ({
          value,
          name: KIND_NAMES[value],
        }))}
        onChange={(value) => setKind(value as StepKind)}
        required
      />
      <button type="button" className="button" onClick={add}>
        <Icon name="plus" size={16} /> Add a step
      </button>
      <button
        type="button"
        className="button"
        onClick={editing.undo ?? undefined}
        disabled={editing.undo === null}
      >
        Undo
      </button>
      <button
        type="button"
        className="button"
        onClick={editing.redo ?? undefined}
        disabled={editing.redo === null}
      >
        Redo
      </button>
      <button type="button" className="button" aria-pressed={asText} onClick={onText}>
        Text
      </button>
      <Publish editing={editing} />
    </div>
  );
}

/** Everything that is wrong, each finding with its step. */
function Findings({ editing, onChoose }: { editing: Editing; onChoose: (id: string) => void }) {
  const { check, malformed, draft } = editing;
  if (malformed !== null)
    return (
      <Note kind="bad" title="The document has another form than a template's.">
        <ul>
          {[...malformed.fields].map(([pointer, detail]) => (
            <li key={pointer}>
              <code>{pointer}</code> <Label text={detail} maxLength={300} />
            </li>
          ))}
        </ul>
      </Note>
    );
  if (check === null) return <Loading rows={1} what="Checking" />;
  if (check.valid)
    return <Note kind="good" title="All rules are kept. The draft can be published." />;
  const link = (one: Violation) => one.node ?? one.edge?.source ?? null;
  return (
    <section className="card findings" aria-label="Findings">
      <h2>{countOf(check.violations.length, "finding")}</h2>
      <ul>
        {check.violations.map((one, place) => {
          const at = link(one);
          const known = draft !== null && stepOf(draft, at) !== undefined;
          return (
            <li key={place}>
              {at !== null && known && (
                <button type="button" className="link" onClick={() => onChoose(at)}>
                  <Label text={at} />
                </button>
              )}{" "}
              <Label text={one.detail} maxLength={400} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function ProcessPanel({ editing, onChoose }: { editing: Editing; onChoose: (id: string) => void }) {
  const { draft, check } = editing;
  if (draft === null) return null;
  const description = typeof draft["description"] === "string" ? draft["description"] : "";
  return (
    <section className="card" aria-label="The process">
      <h2>The process</h2>
      <Field
        label="Title"
        value={draft.title}
        onChange={(title) => editing.change({ ...draft, title: title || " " })}
        required
      />
      <Field
        label="Description"
        rows={3}
        value={description}
        onChange={(text) => editing.change({ ...draft, description: text || " " })}
      />
      <h3>Steps</h3>
      <ul className="steps-list">
        {draft.steps.map((step) => (
          <li key={step.id}>
            <button type="button" className="link" onClick={() => onChoose(step.id)}>
              <Label text={step.label} />
            </button>{" "}
            <small className="muted">
              {KIND_NAMES[step.kind]}
              {check?.gates.includes(step.id) === true &&
                step.kind !== "gate" &&
                ", a person decides"}
            </small>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Publish({ editing }: { editing: Editing }) {
  const { role } = useAccount();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState<PublishedVersion | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [key, setKey] = useState(newIdempotencyKey);
  const { draft, check } = editing;
  if (draft === null || !isAtLeast(role, "admin")) return null;
  const ready = check?.valid === true && editing.save === "saved" && editing.stored;
  const publish = async () => {
    setBusy(true);
    setProblem(null);
    try {
      setDone(await post<PublishedVersion>(pathOf(draft.vertical, "publish"), {}, key));
      setKey(newIdempotencyKey());
      clearCache();
      editing.loadTheirs();
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
  };
  return (
    <>
      <button
        type="button"
        className="button primary"
        disabled={!ready}
        onClick={() => {
          setDone(null);
          setAsking(true);
        }}
      >
        Publish
      </button>
      {asking && done === null && (
        <Dialog
          title="Publish this draft?"
          yes={busy ? "Publishing…" : "Publish"}
          busy={busy}
          onYes={() => void publish()}
          onNo={() => setAsking(false)}
        >
          <p>Runs that start from now on follow it. Runs in flight keep their version.</p>
          {problem !== null && <Note kind="bad" title={problem.message} />}
        </Dialog>
      )}
      {asking && done !== null && (
        <Dialog
          title={`Version ${done.version} is published`}
          yes="Start a run"
          no="Close"
          onYes={() => (location.hash = linkTo("templates", done.vertical))}
          onNo={() => setAsking(false)}
        >
          {done.gates_removed.length > 0 && (
            <p>
              Gates that the version before had: <Label text={done.gates_removed.join(", ")} />.
            </p>
          )}
          <p>
            {done.runs_affected.length === 0
              ? "No run in flight would go another way by it."
              : `${countOf(done.runs_affected.length, "run")} in flight would go another way by it, and keep the version that they have.`}
          </p>
        </Dialog>
      )}
    </>
  );
}
