/** Choose a step that may learn: one of medium risk that judges hear. */

import { useState } from "react";
import { getCanvas, getTemplates } from "../../api/resources";
import { Field } from "../../components/Field";
import { useLoad } from "../../state/useLoad";
import { autonomy as t } from "../../text/en/autonomy";

export function AddStep({ present, onAdd }: { present: string[]; onAdd: (name: string) => void }) {
  const [vertical, setVertical] = useState("");
  const [chosen, setChosen] = useState("");
  const templates = useLoad("templates", getTemplates).value ?? [];
  const { value: canvas } = useLoad(`canvas ${vertical}`, () =>
    vertical === "" ? Promise.resolve(null) : getCanvas(vertical),
  );
  const steps = (canvas?.nodes ?? []).filter(
    (node) =>
      node.tier === "medium" &&
      !node.gate &&
      node.judges.length > 0 &&
      !present.includes(`${vertical}/${node.id}`),
  );
  const step = steps.some((node) => node.id === chosen) ? chosen : "";
  return (
    <>
      <Field
        label={t("process")}
        value={vertical}
        onChange={setVertical}
        options={[
          { value: "", name: t("choose") },
          ...templates.map((one) => ({ value: one.vertical, name: one.title })),
        ]}
      />
      {canvas !== null && steps.length === 0 && <p className="muted gap">{t("noJudges")}</p>}
      {steps.length > 0 && (
        <Field
          label={t("step")}
          value={step}
          onChange={setChosen}
          options={[
            { value: "", name: t("choose") },
            ...steps.map((node) => ({ value: node.id, name: node.label })),
          ]}
        />
      )}
      {steps.length > 0 && (
        <button
          type="button"
          className="button gap"
          disabled={step === ""}
          onClick={() => onAdd(`${vertical}/${step}`)}
        >
          {t("addStep")}
        </button>
      )}
    </>
  );
}
