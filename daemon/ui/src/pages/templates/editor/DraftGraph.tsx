/** The graph of the draft, on which steps are placed, connected and parted. */

import { lazy, Suspense, useMemo } from "react";
import { Loading } from "../../../components/Feedback";
import type { GraphEditing } from "../../../graph/editing";
import { edgeKey, progress } from "../../../graph/progress";
import { added, type Draft, type StepKind } from "./draft/document";
import { findingsByStep } from "./draft/findings";
import { between, connected, disconnected } from "./draft/moves";
import type { Editing } from "./draft/useDraft";
import type { Rehearsal } from "./draft/useRehearsal";
import { common } from "../../../text/en/common";
import { editor as t } from "../../../text/en/editor";

const ProcessGraph = lazy(() => import("../../../graph/ProcessGraph"));

interface Props {
  editing: Editing;
  draft: Draft;
  rehearsal: Rehearsal;
  chosen: string | null;
  /** The way on which a clock is not kept, a duty is avoided, or the slowest one of a clock. */
  path: string[];
  onChoose: (id: string, byKeys: boolean) => void;
  onLeave: () => void;
  onPut: (made: { draft: Draft; id: string }) => void;
}

export function DraftGraph(props: Props) {
  const { editing, draft, rehearsal, chosen, path, onChoose, onLeave, onPut } = props;
  const { check } = editing;
  const canvas = check?.canvas ?? null;
  const tried = rehearsal.tried;
  const kept = check?.clocks.some((one) => one.path === path) === true;
  const findings = useMemo(() => findingsByStep(check), [check]);
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
    onInsert: (edge) => onPut(between(draft, edge, "task")),
    onDisconnect: (edge) => editing.change(disconnected(draft, edge)),
    onLeave,
    onPlace: (kind, at) => onPut(added(draft, at ?? chosen, kind as StepKind)),
  };
  return (
    <section
      className={`template-graph ${kept ? "is-kept" : ""}`}
      aria-label={t("graph")}
      aria-busy={editing.checking}
      tabIndex={-1}
    >
      {canvas === null ? (
        <p className="muted card">{check === null ? t("beingChecked") : t("cannotDrawYet")}</p>
      ) : (
        <Suspense fallback={<Loading rows={3} what={common("drawing")} />}>
          <ProcessGraph
            canvas={canvas}
            chosen={chosen}
            onChoose={onChoose}
            editing={moves}
            findings={findings}
            path={path}
            {...(reached === undefined ? {} : { progress: reached })}
          />
        </Suspense>
      )}
      <details className="keys">
        <summary>{t("shortcuts")}</summary>
        <dl>
          {KEYS.map(([keys, what]) => (
            <div key={keys}>
              <dt>
                <kbd>{t(keys)}</kbd>
              </dt>
              <dd>{t(what)}</dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}

const KEYS = [
  ["keys.arrows", "key.go"],
  ["keys.enter", "key.edit"],
  ["keys.escape", "key.back"],
  ["keys.delete", "key.delete"],
  ["keys.copy", "key.copy"],
  ["keys.undo", "key.undo"],
] as const;
