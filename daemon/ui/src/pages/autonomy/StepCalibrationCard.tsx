/** What is known of a step: its cases, what they would clear, and where people disagreed. */

import type { StepCalibration } from "../../api/types";
import { TimeAgo } from "../../components/Time";
import { linkTo } from "../../state/router";
import { formatNumber, formatShare } from "../../text/formats";
import { Reliability } from "./Reliability";
import { stepName } from "./stepName";
import { autonomy as t } from "../../text/en/autonomy";

interface Props {
  step: StepCalibration;
  needed: number;
  titles: Map<string, string>;
}

export function StepCalibrationCard({ step, needed, titles }: Props) {
  const name = t("stepVersion", {
    step: stepName(titles, step.vertical, step.step_id),
    version: String(step.template_version),
  });
  return (
    <section className="card gap" aria-label={name}>
      <h3 className="gap">{name}</h3>
      <p className="gap">
        {step.cases < needed && `${t("fewCases", { count: needed - step.cases })} `}
        {t("floorIs", { floor: formatShare(step.floor) })}
        {step.agreement !== null && ` ${t("agreementIs", { share: formatShare(step.agreement) })}`}
      </p>
      <ul className="key-numbers" aria-label={t("keyNumbers", { step: name })}>
        <KeyNumber
          name={t("cases")}
          value={formatNumber(step.cases)}
          more={t("agreed", { count: step.agreed })}
        />
        <KeyNumber
          name={t("wouldClear")}
          value={formatNumber(step.would_clear)}
          more={t("ofCases")}
        />
        <KeyNumber name={t("cleared")} value={formatNumber(step.cleared)} />
        <KeyNumber name={t("calibrationError")} value={score(step.calibration_error)} />
        <KeyNumber name={t("brier")} value={score(step.brier)} />
      </ul>
      {step.bins.length > 0 && <Reliability step={step} name={name} />}
      <Disagreements step={step} />
    </section>
  );
}

function KeyNumber({ name, value, more = "" }: { name: string; value: string; more?: string }) {
  return (
    <li className="key-number">
      <div>
        <span className="key-name">{name}</span>
        <strong>{value}</strong>
        {more !== "" && <span className="muted small">{more}</span>}
      </div>
    </li>
  );
}

function Disagreements({ step }: { step: StepCalibration }) {
  if (step.cases === 0) return null;
  if (step.disagreements.length === 0) return <p className="muted">{t("noDisagreements")}</p>;
  return (
    <>
      <h4>{t("disagreements")}</h4>
      <ul className="sessions">
        {step.disagreements.map((one) => (
          <li key={`${one.run_id} ${one.visit}`}>
            <p>
              {t("disagreement", {
                run: (
                  <a href={linkTo("runs", one.run_id)}>
                    <code>{one.run_id}</code>
                  </a>
                ),
                when: <TimeAgo at={one.at} />,
                share: formatShare(one.raw),
              })}
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}

function score(value: number | null): string {
  return value === null ? "–" : formatNumber(value);
}
