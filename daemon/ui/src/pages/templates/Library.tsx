/** The library of processes: packs by trade, and a preview of each process. */

import { lazy, Suspense, useState } from "react";
import { getCanvas, getTemplate } from "../../api/resources";
import type { Canvas, GraphNode, Template, TemplateDetail } from "../../api/types";
import { TierBadge } from "../../components/Badges";
import { Dialog } from "../../components/Dialog";
import { LoadError, Loading } from "../../components/Feedback";
import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { linkTo } from "../../state/router";
import { useLoad } from "../../state/useLoad";
import { library as t } from "../../text/en/library";
import { panel } from "../../text/en/panel";
import { durationText } from "../../text/policy";

import { ClockRules } from "./ClockRules";
import { Offices } from "./Offices";
import { hasJudges, Judges } from "./Judges";
import { Rule } from "./Rules";
import { ToolsNeeded, UseTemplate } from "./UseTemplate";

const ProcessGraph = lazy(() => import("../../graph/ProcessGraph"));

/** The packs of these templates with their titles, in the order of the titles. */
export function packsOf(templates: Template[]): [string, string][] {
  const packs = new Set(templates.flatMap(({ pack }) => (pack === null ? [] : [pack])));
  return [...packs]
    .map((pack): [string, string] => [pack, packTitle(pack)])
    .sort((a, b) => a[1].localeCompare(b[1]));
}

function packTitle(pack: string): string {
  return t.code("pack", pack);
}

interface PartProps {
  name: string;
  templates: Template[];
  chosen: string[];
  onChanged: () => void;
}

/** A part of the gallery without drawings, which are there in the preview. */
export function LibraryPart({ name, templates, chosen, onChanged }: PartProps) {
  const [shown, setShown] = useState<Template | null>(null);
  return (
    <section className="gallery-part">
      <h2>{name}</h2>
      <ul className="gallery" aria-label={name}>
        {templates.map((template) => (
          <li className="tile" key={template.vertical}>
            <h3>
              <a href={linkTo("templates", template.vertical)}>
                <Label text={template.title} />
              </a>
            </h3>
            <p>
              <Label text={template.description} maxLength={260} />
            </p>
            <p className="badges">
              <span className="muted">
                <Icon name="gate" size={14} /> {t("gates", { count: template.gates.length })} ·{" "}
                {t("steps", { count: template.steps })}
              </span>
            </p>
            <div className="tile-title">
              <button
                type="button"
                className="button"
                aria-label={t("previewOf", { title: template.title })}
                onClick={() => setShown(template)}
              >
                {t("preview")}
              </button>
              <UseTemplate
                vertical={template.vertical}
                title={template.title}
                chosen={chosen.includes(template.vertical)}
                onChanged={onChanged}
              />
            </div>
          </li>
        ))}
      </ul>
      {shown !== null && (
        <Dialog
          title={shown.title}
          yes={t("close")}
          no={null}
          onYes={() => setShown(null)}
          onNo={() => setShown(null)}
        >
          <Preview vertical={shown.vertical} />
        </Dialog>
      )}
    </section>
  );
}

function Preview({ vertical }: { vertical: string }) {
  const { value, problem, reload } = useLoad(`preview ${vertical}`, () =>
    Promise.all([getTemplate(vertical), getCanvas(vertical)]),
  );
  if (value === null)
    return problem === null ? (
      <Loading rows={6} what={t("loading")} />
    ) : (
      <LoadError problem={problem} retry={reload} />
    );
  const [template, canvas] = value;
  return (
    <div className="preview">
      <p>
        <Label text={template.description} maxLength={1_000} />
      </p>
      <section className="template-graph" aria-label={t("graph")}>
        <Suspense fallback={<Loading rows={3} />}>
          <ProcessGraph canvas={canvas} chosen={null} onChoose={() => undefined} />
        </Suspense>
      </section>
      <h3>{t("gatesAndWaits")}</h3>
      <Gates canvas={canvas} />
      <ClockRules canvas={canvas} />
      <Offices canvas={canvas} />
      {hasJudges(canvas) && (
        <>
          <h3>{panel("title")}</h3>
          <Judges canvas={canvas} />
        </>
      )}
      <Sources template={template} />
      <h3>{t("tools")}</h3>
      <ToolsNeeded vertical={vertical} />
    </div>
  );
}

/** Each gate with its clock, and each wait. */
function Gates({ canvas }: { canvas: Canvas }) {
  return (
    <ul className="gates">
      {canvas.nodes
        .filter((node) => node.gate || node.wait !== null)
        .map((node) => {
          const time = withinText(node, canvas);
          return (
            <li key={node.id}>
              {node.gate ? (
                <TierBadge tier={node.tier} />
              ) : (
                <span className="badge">{t("wait")}</span>
              )}
              <span>
                <strong>
                  <Label text={node.label} />
                </strong>
                {time !== null && (
                  <small className="muted">
                    {" "}
                    <Label text={time} maxLength={200} />
                  </small>
                )}
              </span>
            </li>
          );
        })}
    </ul>
  );
}

/** Within what time a person decides or a wait ends. */
function withinText(node: GraphNode, { clocks }: Canvas): string | null {
  const deadline = node.policy?.deadline ?? node.wait?.duration ?? node.wait?.within ?? null;
  if (deadline === null) return null;
  if (typeof deadline === "string") return t("within", { time: durationText(deadline) });
  const label = clocks.find((one) => one.id === deadline.clock)?.label ?? deadline.clock;
  return t("beforeClock", { time: durationText(deadline.before), clock: label });
}

/** The rules that a process follows. */
function Sources({ template }: { template: TemplateDetail }) {
  if (template.rules.length === 0) return null;
  return (
    <>
      <h3>{t("sources")}</h3>
      <ul className="sources">
        {template.rules.map((rule, nth) => (
          <li key={nth}>
            <Rule rule={rule} />
          </li>
        ))}
      </ul>
    </>
  );
}
