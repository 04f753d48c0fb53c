/** Write a process: the graph, the fields of its steps, all that is wrong, trying, publishing. */

import { type KeyboardEvent, lazy, Suspense, useMemo, useState } from "react";
import { LoadError, Loading, Note } from "../../../components/Feedback";
import { Breadcrumbs, Heading } from "../../../components/Heading";
import { Label } from "../../../components/Text";
import type { GraphEditing } from "../../../graph/editing";
import { edgeKey, progress } from "../../../graph/progress";
import { useRoute } from "../../../state/router";
import { useAccount } from "../../../state/session";
import { isAtLeast } from "../../../text/labels";
import { rolesSentence } from "../../../text/people";
import { added, type Draft, removed, type Step, type StepKind, stepOf } from "./document";
import { Comparison } from "./Comparison";
import { between, connected, disconnected, pasted } from "./moves";
import { Findings, ProcessPanel } from "./ProcessPanel";
import { Publish } from "./Publish";
import { StepPanel } from "./StepPanel";
import { type Deeds, Toolbar, type View } from "./Toolbar";
import { TryPanel } from "./TryPanel";
import { type Editing, type SaveState, useDraft } from "./useDraft";
import { type Rehearsal, useRehearsal } from "./useRehearsal";

const ProcessGraph = lazy(() => import("../../../graph/ProcessGraph"));
const TextView = lazy(() => import("./TextView"));
const SAVED: Record<SaveState, string> = {
  saved: "Saved",
  saving: "Saving…",
  unsaved: "Not saved yet",
  conflict: "Not saved",
  failed: "Not saved: the service refused it or cannot be reached",
};

export default function EditorPage({ vertical }: { vertical: string }) {
  const title = useRoute().query.get("title") ?? vertical;
  const editing = useDraft(vertical, title);
  const { role } = useAccount();
  const { draft, problem } = editing;
  if (draft === null)
    return problem === null ? (
      <Loading rows={6} what="Loading the draft" />
    ) : (
      <LoadError problem={problem} retry={editing.loadTheirs} />
    );
  if (!isAtLeast(role, "member"))
    return <Note kind="info" title={rolesSentence("member", "edits drafts")} />;
  return <Editor editing={editing} draft={draft} />;
}

function Editor({ editing, draft }: { editing: Editing; draft: Draft }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const [copied, setCopied] = useState<Step | null>(null);
  const [view, setView] = useState<View>("graph");
  const [trying, setTrying] = useState(false);
  const { check } = editing;
  const valid = check?.valid === true;
  const rehearsal = useRehearsal(trying ? draft : null, valid);
  const step = stepOf(draft, chosen);
  const put = (made: { draft: Draft; id: string }) => {
    editing.change(made.draft);
    setChosen(made.id);
  };
  const deeds: Deeds = {
    add: (kind) => put(added(draft, chosen, kind)),
    undo: editing.undo,
    redo: editing.redo,
    copy: step === undefined ? null : () => setCopied(step),
    paste: copied === null ? null : () => put(pasted(draft, chosen, copied)),
  };
  const remove = () => {
    if (step === undefined) return;
    editing.change(removed(draft, step.id));
    setChosen(null);
  };
  return (
    <article className="editor" onKeyDown={(event) => onKey(event, deeds, remove)}>
      <Breadcrumbs href="#/templates" text="Templates" />
      <Heading title={`Edit ${draft.title}`} name={<Label text={`Edit ${draft.title}`} />}>
        <p className="muted" role="status">
          {editing.stored || editing.save !== "saved" ? SAVED[editing.save] : "No draft yet"}
        </p>
      </Heading>
      {editing.save === "conflict" && <Conflict editing={editing} />}
      <Toolbar
        deeds={deeds}
        view={view}
        onView={setView}
        trying={trying}
        onTry={() => {
          if (trying) rehearsal.end();
          setTrying(!trying);
        }}
        comparable={editing.published !== null}
      >
        <Publish editing={editing} />
      </Toolbar>
      {view === "changes" && editing.published !== null ? (
        <Comparison
          before={{ title: "Before: as published", document: editing.published }}
          after={{ title: "After: the draft", document: draft }}
        />
      ) : (
        <div className="editor-columns">
          {view === "text" ? (
            <Suspense fallback={<Loading rows={6} />}>
              <TextView draft={draft} onChange={editing.change} />
            </Suspense>
          ) : (
            <DraftGraph
              editing={editing}
              draft={draft}
              rehearsal={rehearsal}
              chosen={chosen}
              onChoose={(id) => setChosen(chosen === id ? null : id)}
              onPut={put}
            />
          )}
          <div>
            {trying && (
              <TryPanel draft={draft} valid={valid} rehearsal={rehearsal} onChoose={setChosen} />
            )}
            <Findings editing={editing} onChoose={setChosen} />
            {step === undefined ? (
              <ProcessPanel editing={editing} onChoose={setChosen} />
            ) : (
              <StepPanel
                draft={draft}
                step={step}
                check={check}
                onChange={editing.change}
                onChoose={setChosen}
              />
            )}
          </div>
        </div>
      )}
    </article>
  );
}

/** Keys that mean the same wherever no text is being written. */
function onKey(event: KeyboardEvent, deeds: Deeds, remove: () => void) {
  const { target, key } = event;
  if (target instanceof Element && target.closest("input, textarea, select, dialog") !== null)
    return;
  const held = event.ctrlKey || event.metaKey;
  const letter = key.toLowerCase();
  let deed: (() => void) | null = null;
  if (held && letter === "z") deed = event.shiftKey ? deeds.redo : deeds.undo;
  else if (held && letter === "y") deed = deeds.redo;
  else if (held && letter === "c" && (getSelection()?.isCollapsed ?? true)) deed = deeds.copy;
  else if (held && letter === "v") deed = deeds.paste;
  else if (key === "Delete") deed = remove;
  if (deed === null) return;
  event.preventDefault();
  deed();
}

interface GraphProps {
  editing: Editing;
  draft: Draft;
  rehearsal: Rehearsal;
  chosen: string | null;
  onChoose: (id: string) => void;
  onPut: (made: { draft: Draft; id: string }) => void;
}

function DraftGraph({ editing, draft, rehearsal, chosen, onChoose, onPut }: GraphProps) {
  const { check } = editing;
  const canvas = check?.canvas ?? null;
  const tried = rehearsal.tried;
  const reached = useMemo(() => {
    if (canvas === null || tried === null) return undefined;
    const found = progress(canvas, tried.run, []);
    const events = canvas.edges
      .filter((edge) => found.visits.has(edge.source) && found.visits.has(edge.target))
      .map((edge) => edgeKey(edge.source, edge.target));
    return { ...found, takenEdges: new Set(events) };
  }, [canvas, tried]);
  const moves: GraphEditing = {
    onConnect: (source, target) => editing.change(connected(draft, source, target)),
    onInsert: (number) => {
      const edge = canvas?.edges[number];
      if (edge !== undefined) onPut(between(draft, edge, "task"));
    },
    onDisconnect: (number) => {
      const edge = canvas?.edges[number];
      if (edge !== undefined) editing.change(disconnected(draft, edge));
    },
    onPlace: (kind, at) => onPut(added(draft, at ?? chosen, kind as StepKind)),
  };
  return (
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
            onChoose={onChoose}
            editing={moves}
            {...(reached === undefined ? {} : { progress: reached })}
          />
        </Suspense>
      )}
    </section>
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
