/** Two versions of a process beside each other, with what changed on the graph and in words. */

import { lazy, Suspense, useState } from "react";
import { post } from "../../../api/client";
import type { Canvas, TemplateCheck } from "../../../api/types";
import { Differences, StepDifferences } from "../../../components/Differences";
import { Loading, Note } from "../../../components/Feedback";
import { useLoad } from "../../../state/useLoad";
import { compare, compareDocuments, marksOf } from "./draft/comparison";
import type { Draft } from "./draft/document";
import { common } from "../../../text/en/common";
import { editor as t } from "../../../text/en/editor";

const ProcessGraph = lazy(() => import("../../../graph/ProcessGraph"));

export interface Side {
  title: string;
  document: Draft;
}

export function Comparison({ before, after }: { before: Side; after: Side }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const changes = compare(before.document, after.document);
  const marks = marksOf(changes);
  const own = compareDocuments(before.document, after.document);
  return (
    <section className="comparison" aria-label={t("comparison")}>
      <div className="comparison-graphs">
        {[before, after].map((side) => (
          <figure key={side.title}>
            <figcaption>{side.title}</figcaption>
            <Graph document={side.document} marks={marks} chosen={chosen} onChoose={setChosen} />
          </figure>
        ))}
      </div>
      {changes.length + own.length === 0 ? (
        <Note kind="good" title={t("noDifference")} />
      ) : (
        <section className="card" aria-label={t("differences")}>
          <h2>{t("stepsDiffer", { count: changes.length })}</h2>
          {own.length > 0 && <Differences fields={own} />}
          <StepDifferences steps={changes} />
        </section>
      )}
    </section>
  );
}

function Graph({
  document,
  marks,
  chosen,
  onChoose,
}: {
  document: Draft;
  marks: ReturnType<typeof marksOf>;
  chosen: string | null;
  onChoose: (id: string) => void;
}) {
  const { value } = useLoad(`canvas of ${JSON.stringify(document)}`, async () => {
    const found = await post<TemplateCheck>("/process-templates/validate", document);
    return { canvas: found.canvas as Canvas | null };
  });
  if (value === null) return <Loading rows={3} what={common("drawing")} />;
  if (value.canvas === null) return <p className="muted card">{t("cannotDraw")}</p>;
  return (
    <Suspense fallback={<Loading rows={3} what={common("drawing")} />}>
      <ProcessGraph canvas={value.canvas} marks={marks} chosen={chosen} onChoose={onChoose} />
    </Suspense>
  );
}
