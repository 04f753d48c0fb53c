/** The clocks of a template: how long the law gives, from when, and what stops and moves them. */

import type { Canvas, ClockRule } from "../../api/types";
import { Label } from "../../components/Text";
import { canExtendText, isDuration, pauseNames, stepNames } from "../../text/clocks";
import { clocks as t } from "../../text/en/clocks";
import { formatList } from "../../text/formats";
import { aRole } from "../../text/labels";
import { durationText } from "../../text/policy";

export function ClockRules({ canvas }: { canvas: Canvas }) {
  if (canvas.clocks.length === 0) return null;
  const label = (id: string) => canvas.nodes.find((node) => node.id === id)?.label ?? id;
  return (
    <>
      <h3>{t("title")}</h3>
      <ul className="sources" aria-label={t("title")}>
        {canvas.clocks.map((rule) => (
          <li key={rule.id}>
            <strong>
              <Label text={rule.label} />
            </strong>
            <dl className="facts">
              {factsOf(rule, label).map(([name, text]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <Label text={text} maxLength={600} />
                  </dd>
                </div>
              ))}
            </dl>
            {rule.source !== null && (
              <small className="muted">
                <Label text={t("source", { source: rule.source })} maxLength={300} />
              </small>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function factsOf(rule: ClockRule, label: (step: string) => string): [string, string][] {
  const { from, from_step: step, within, extend, warn, on_breach: breach } = rule;
  const start =
    step !== null
      ? t("startOfStep", { step: label(step) })
      : from === null
        ? t("startOfRun")
        : t("startAt", { rule: from });
  const span = isDuration(within) ? durationText(within) : t("withinRule", { rule: within });
  return [
    [t("within"), span],
    [t("starts"), start],
    [t("stops"), stepNames(rule.stops, label)],
    ...pair(rule.pauses.length > 0, t("pauses"), () => pauseNames(rule, label)),
    ...(extend === null ? [] : [[t("extends"), canExtendText(extend, label)] as [string, string]]),
    ...pair(warn.length > 0, t("warns"), () =>
      t("before", { spans: formatList(warn.map(durationText)) }),
    ),
    [
      t("breach"),
      breach === null ? t("breachTold") : t("breachEscalates", { role: aRole(breach.escalate) }),
    ],
  ];
}

function pair(there: boolean, name: string, text: () => string): [string, string][] {
  return there ? [[name, text()]] : [];
}
