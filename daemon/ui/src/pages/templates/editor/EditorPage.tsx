/** Write a process: the graph, the fields of its steps, all that is wrong, trying, publishing. */

import { lazy, type RefObject, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { LoadError, Loading, Note } from "../../../components/Feedback";
import { Breadcrumbs, Heading } from "../../../components/Heading";
import { PersonName } from "../../../components/record/PersonName";
import { Label } from "../../../components/Text";
import { useRoute } from "../../../state/router";
import { useAccount } from "../../../state/session";
import { isAtLeast, rolesFrom } from "../../../text/labels";
import { Comparison } from "./Comparison";
import { ConflictNote } from "./ConflictNote";
import { added, type Draft, removed, type Step, stepOf } from "./draft/document";
import { pathToShow } from "./draft/findings";
import { DraftGraph } from "./DraftGraph";
import { FromFile } from "./FromFile";
import { type Deeds, useKeys } from "./keys";
import { pasted } from "./draft/moves";
import { Findings, ProcessPanel } from "./ProcessPanel";
import { Publish } from "./Publish";
import { StepPanel } from "./fields/StepPanel";
import { Toolbar, type View } from "./Toolbar";
import { TryPanel } from "./TryPanel";
import { type Editing, useDraft } from "./draft/useDraft";
import { useRehearsal } from "./draft/useRehearsal";
import { editor as t } from "../../../text/en/editor";

const TextView = lazy(() => import("./TextView"));

export default function EditorPage({ vertical }: { vertical: string }) {
  return <Loaded key={vertical} vertical={vertical} />;
}

function Loaded({ vertical }: { vertical: string }) {
  const title = useRoute().query.get("title") ?? vertical;
  const editing = useDraft(vertical, title);
  const { role } = useAccount();
  const { draft, problem } = editing;
  if (draft === null)
    return problem === null ? (
      <Loading rows={6} what={t("loading")} />
    ) : (
      <LoadError problem={problem} retry={editing.reload} />
    );
  if (!isAtLeast(role, "member"))
    return <Note kind="info" title={t("rolesEdit", { roles: rolesFrom("member") })} />;
  return <Editor editing={editing} draft={draft} />;
}

type Made = { draft: Draft; id: string };

function Editor({ editing, draft }: { editing: Editing; draft: Draft }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const [copied, setCopied] = useState<Step | null>(null);
  const [view, setView] = useState<View>("graph");
  const [trying, setTrying] = useState(false);
  const [proof, setProof] = useState<string | null>(null);
  const editor = useRef<HTMLElement>(null);
  const focusing = useFocus(editor);
  const { check } = editing;
  const path = useMemo(() => pathToShow(check, proof), [check, proof]);
  const valid = check?.valid === true && editing.malformed === null;
  const rehearsal = useRehearsal(trying ? draft : null, valid);
  const step = stepOf(draft, chosen);
  const put = (made: Made) => {
    editing.change(made.draft);
    setChosen(made.id);
  };
  const write = (made: Made) => {
    put(made);
    focusing.next(PANEL);
  };
  const remove = () => {
    if (step === undefined) return;
    editing.change(removed(draft, step.id));
    setChosen(null);
    focusing.next(GRAPH);
  };
  const deeds: Deeds = {
    add: (kind) => write(added(draft, chosen, kind)),
    undo: editing.undo,
    redo: editing.redo,
    copy: step === undefined ? null : () => setCopied(step),
    paste: copied === null ? null : () => put(pasted(draft, chosen, copied)),
    remove: step === undefined ? null : remove,
    leave: step === undefined ? null : () => focusing.next(nodeOf(step.id)),
  };
  useKeys(editor, deeds);
  const choose = (id: string, byKeys: boolean) => {
    if (byKeys) focusing.next(PANEL);
    setChosen(chosen === id && !byKeys ? null : id);
  };
  const show = (id: string | null) => {
    if (id === null) focusing.next(GRAPH);
    setChosen(id);
  };
  return (
    <article className="editor" ref={editor}>
      <Breadcrumbs href="#/templates" text={t("templates")} />
      <Heading
        title={t("edit", { title: draft.title })}
        name={<Label text={t("edit", { title: draft.title })} />}
      >
        <SavedLine editing={editing} />
      </Heading>
      {editing.conflict !== null && (
        <ConflictNote conflict={editing.conflict} draft={draft} onResolve={editing.resolve} />
      )}
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
          before={{ title: t("before"), document: editing.published }}
          after={{ title: t("after"), document: draft }}
        />
      ) : (
        <div className="editor-columns">
          {view === "text" ? (
            <Suspense fallback={<Loading rows={6} />}>
              <TextView draft={draft} chosen={chosen} onChange={editing.change} />
            </Suspense>
          ) : (
            <DraftGraph
              editing={editing}
              draft={draft}
              rehearsal={rehearsal}
              chosen={chosen}
              path={path}
              onChoose={choose}
              onLeave={() => setChosen(null)}
              onPut={write}
            />
          )}
          <div className="editor-side">
            {trying && (
              <TryPanel
                draft={draft}
                canvas={check?.canvas ?? null}
                valid={valid}
                rehearsal={rehearsal}
                onChoose={setChosen}
              />
            )}
            <FromFile vertical={draft.vertical} />
            <Findings editing={editing} path={path} onPath={setProof} onChoose={setChosen} />
            {step === undefined ? (
              <ProcessPanel editing={editing} path={path} onPath={setProof} onChoose={setChosen} />
            ) : (
              <StepPanel
                draft={draft}
                step={step}
                check={check}
                onChange={editing.change}
                onChoose={show}
                onRemove={remove}
              />
            )}
          </div>
        </div>
      )}
    </article>
  );
}

const PANEL = ".step-panel input";
const GRAPH = ".template-graph";

function nodeOf(id: string): string {
  return `.react-flow__node[data-id="${CSS.escape(id)}"] button`;
}

/** Moves the focus after the next change of the page. */
function useFocus(editor: RefObject<HTMLElement | null>) {
  const [wanted, setWanted] = useState<{ where: string } | null>(null);
  useEffect(() => {
    if (wanted === null) return;
    const found = editor.current?.querySelector<HTMLElement>(wanted.where);
    found?.focus({ preventScroll: wanted.where !== PANEL });
    if (found instanceof HTMLInputElement) found.select();
  }, [wanted, editor]);
  return { next: (where: string) => setWanted({ where }) };
}

function SavedLine({ editing }: { editing: Editing }) {
  const { save, refused, others, etag } = editing;
  const text = etag === null && save === "saved" ? t("noDraft") : t(`save.${save}`);
  return (
    <p className="muted" role="status">
      <span>{text}</span>
      {save === "failed" && refused !== null && (
        <>
          {": "}
          <Label text={refused.message} maxLength={300} />
        </>
      )}
      {others !== null && save !== "conflict" && (
        <>
          {" · "}
          {t("includesChanges", { who: <PersonName by={others} /> })}
        </>
      )}
    </p>
  );
}
