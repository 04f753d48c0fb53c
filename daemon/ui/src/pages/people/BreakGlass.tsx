/** Reading a run that is closed to an admin, for an hour, by its id and a reason. */

import { type FormEvent, useState } from "react";
import { newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import type { GlassBroken } from "../../api/types";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { FormProblem } from "../../components/FieldErrors";
import { linkTo } from "../../state/router";
import { common } from "../../text/en/common";
import { readers as t } from "../../text/en/readers";
import { formatTime } from "../../text/labels";

export function BreakGlass({ id: given }: { id: string }) {
  const [id, setId] = useState(given);
  const [reason, setReason] = useState("");
  const [lacking, setLacking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [broken, setBroken] = useState<{ run: string; until: string } | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const run = id.trim();
    const lacks = run === "" || reason.trim() === "";
    setLacking(lacks);
    setProblem(null);
    setBroken(null);
    if (lacks || busy) return;
    setBusy(true);
    try {
      const path = `/process-runs/${encodeURIComponent(run)}/break-glass`;
      const { until } = await post<GlassBroken>(path, { reason }, newIdempotencyKey());
      setBroken({ run, until });
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
  };
  const missing = (text: string) => (lacking && text.trim() === "" ? common("required") : "");
  return (
    <section className="card" aria-label={t("glass")}>
      <h2>{t("glass")}</h2>
      <p className="muted small gap">{t("glassHint")}</p>
      <form onSubmit={(event) => void submit(event)} noValidate>
        {problem?.status === 404 ? (
          <Note kind="bad" title={t("noRun")}>
            <p>{t("noRunHint")}</p>
          </Note>
        ) : (
          <FormProblem problem={problem} />
        )}
        {broken !== null && (
          <Note kind="good" title={t("until", { until: formatTime(broken.until) })}>
            <a href={linkTo("runs", broken.run)}>{t("open")}</a>
          </Note>
        )}
        <Field label={t("runId")} value={id} onChange={setId} required error={missing(id)} />
        <Field
          label={t("reason")}
          hint={t("reasonHint")}
          rows={2}
          value={reason}
          onChange={setReason}
          required
          error={missing(reason)}
        />
        <button type="submit" className="button primary" disabled={busy}>
          {t("breakIt")}
        </button>
      </form>
    </section>
  );
}
