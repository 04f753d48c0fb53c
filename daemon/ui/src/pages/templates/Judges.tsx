/** Who judges steps of medium risk, before a person has to. */

import { getJudges } from "../../api/resources";
import type { Canvas } from "../../api/types";
import { LoadError, Loading } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { useLoad } from "../../state/useLoad";
import { formatList, formatShare } from "../../text/formats";
import { quoted } from "../../text/labels";
import { templates as t } from "../../text/en/templates";

export function hasJudges(canvas: Canvas): boolean {
  return canvas.nodes.some((node) => node.judges.length > 0);
}

export function Judges({ canvas }: { canvas: Canvas }) {
  const { vertical, nodes } = canvas;
  const { value, problem, reload } = useLoad(`judges ${vertical}`, () => getJudges(vertical));
  if (value === null)
    return problem === null ? (
      <Loading rows={2} what={t("loadingJudges")} />
    ) : (
      <LoadError problem={problem} retry={reload} />
    );
  const labels = new Map(nodes.map((node) => [node.id, node.label]));
  return (
    <ul className="sources">
      {value.map((judge) => (
        <li key={judge.id}>
          <strong>
            <Label text={judge.label} />
          </strong>{" "}
          {t("judges", {
            steps: formatList(judge.steps.map((step) => quoted(labels.get(step) ?? step))),
          })}
          <br />
          <small className="muted">
            {judge.tool === null ? (
              <>
                {t("judgedByRule", { share: formatShare(judge.confidence ?? 1) })}{" "}
                <code>{judge.rule}</code>
              </>
            ) : (
              t("judgedByTool", { tool: <Label text={judge.tool} /> })
            )}
          </small>
        </li>
      ))}
    </ul>
  );
}
