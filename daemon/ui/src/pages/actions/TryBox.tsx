/** What the rules say of a call; nothing is counted or asked. */

import { type FormEvent, useState } from "react";
import { post, type Problem, toProblem } from "../../api/client";
import { parseObject } from "../../api/json";
import type { ActionTrialResult } from "../../api/types";
import { Field } from "../../components/Field";
import { FormProblem } from "../../components/FieldErrors";
import { Label } from "../../components/Text";
import { actions as t } from "../../text/en/actions";
import { common } from "../../text/en/common";
import { whyText } from "./words";

export function TryBox({ path }: { path: string }) {
  const [call, setCall] = useState({ tool: "", agent: "", model: "", arguments: "{}" });
  const [result, setResult] = useState<ActionTrialResult | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const given = parseObject(call.arguments);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (given === null) return;
    const texts = Object.entries({ agent: call.agent, model: call.model });
    const named = Object.fromEntries(texts.filter(([, text]) => text.trim() !== ""));
    post<ActionTrialResult>(`${path}/try`, { tool: call.tool, arguments: given, ...named }).then(
      (found) => {
        setResult(found);
        setProblem(null);
      },
      (error: unknown) => {
        setResult(null);
        setProblem(toProblem(error));
      },
    );
  };
  const field = (name: keyof typeof call, more: Partial<Parameters<typeof Field>[0]> = {}) => (
    <Field
      label={t(`try.${name}`)}
      value={call[name]}
      onChange={(value) => setCall({ ...call, [name]: value })}
      error={problem?.fields.get(`/${name}`)}
      {...more}
    />
  );
  return (
    <form className="card" onSubmit={submit} noValidate aria-label={t("try")}>
      <h2>{t("try")}</h2>
      <p className="muted gap">{t("tryHint")}</p>
      <FormProblem problem={problem} />
      <div className="rule-fields">
        {field("tool", { required: true })}
        {field("agent")}
        {field("model")}
        {field("arguments", {
          rows: 3,
          error: given === null ? common("mustBeJsonObject") : undefined,
        })}
      </div>
      <p className="actions">
        <button type="submit" className="button">
          {t("tryIt")}
        </button>
      </p>
      <div role="status">
        {result !== null && (
          <p>
            <span className={`badge said-${result.decision}`}>
              {t(`decision.${result.decision}`)}
            </span>{" "}
            {result.rule === "unruled" ? (
              t("noRule")
            ) : (
              <>
                {t("triedBy", { rule: <Label text={result.rule} />, version: result.version })}
                {result.why !== null && <> · {whyText(result.why)}</>}
              </>
            )}
          </p>
        )}
      </div>
    </form>
  );
}
