/** Autonomy: what may be cleared without a person, and how well judges foresee people. */

import "../../styles/dashboard.css";
import { get } from "../../api/client";
import type { Autonomy, Calibration } from "../../api/types";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { Breadcrumbs, Heading } from "../../components/Heading";
import { useAccount } from "../../state/session";
import { useLoad, useTemplateTitles } from "../../state/useLoad";
import { isAtLeast } from "../../text/labels";
import { AutonomyForm } from "./AutonomyForm";
import { StepCalibrationCard } from "./StepCalibrationCard";
import { autonomy as t } from "../../text/en/autonomy";

export default function AutonomyPage() {
  const { company, role } = useAccount();
  const path = `/companies/${encodeURIComponent(company.id)}/autonomy`;
  const settings = useLoad(path, () => get<Autonomy>(path));
  const calibration = useLoad(`${path}/calibration`, () => get<Calibration>(`${path}/calibration`));
  const manages = isAtLeast(role, "admin");
  return (
    <>
      <Breadcrumbs href="#/people" text={t("people")} />
      <Heading title={t("autonomy")}>
        <p className="lead">
          {t("lead")}
          {!manages && ` ${t("adminsChange")}`}
        </p>
      </Heading>
      <section className="card gap" aria-label={t("settings")}>
        <h2>{t("settings")}</h2>
        {settings.value === null ? (
          settings.problem === null ? (
            <Loading rows={3} what={t("loadingSettings")} />
          ) : (
            <LoadError problem={settings.problem} retry={settings.reload} />
          )
        ) : (
          <AutonomyForm
            path={path}
            settings={settings.value}
            manages={manages}
            onStored={(stored) => {
              settings.set(stored);
              calibration.reload();
            }}
          />
        )}
      </section>
      {(settings.value !== null || settings.problem !== null) && (
        <section aria-label={t("calibration")}>
          <h2 className="gap">{t("calibration")}</h2>
          {calibration.value === null ? (
            calibration.problem === null ? (
              <Loading rows={4} what={t("loadingCalibration")} />
            ) : (
              <LoadError problem={calibration.problem} retry={calibration.reload} />
            )
          ) : (
            <Steps found={calibration.value} />
          )}
        </section>
      )}
    </>
  );
}

function Steps({ found }: { found: Calibration }) {
  const titles = useTemplateTitles();
  if (found.steps.length === 0) {
    return (
      <EmptyState icon="judging" title={t("noSteps")}>
        <p>{t("noStepsHint", { count: found.cases_min })}</p>
        <a className="button" href="#/templates">
          {t("openTemplates")}
        </a>
      </EmptyState>
    );
  }
  return found.steps.map((step) => (
    <StepCalibrationCard
      key={`${step.vertical}/${step.step_id}/${step.template_version}`}
      step={step}
      needed={found.cases_min}
      titles={titles}
    />
  ));
}
