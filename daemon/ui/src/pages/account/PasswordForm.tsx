/** Change the password. */

import { type FormEvent, useState } from "react";
import { type Problem, toProblem } from "../../api/client";
import { FormProblem } from "../../components/FieldErrors";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { changePassword } from "../../state/session";
import { account as t } from "../../text/en/account";

export function PasswordForm() {
  const [current, setCurrent] = useState("");
  const [fresh, setFresh] = useState("");
  const [state, setState] = useState<"" | "busy" | "done" | Problem>("");
  const problem = typeof state === "object" ? state : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (state === "busy") return;
    setState("busy");
    changePassword(current, fresh).then(
      () => {
        setCurrent("");
        setFresh("");
        setState("done");
      },
      (error: unknown) => setState(toProblem(error)),
    );
  };
  return (
    <section className="card">
      <h2>{t("changePassword")}</h2>
      <form onSubmit={submit} noValidate>
        {problem !== null && (
          <FormProblem
            problem={problem}
            title={t.code("password", problem.code, problem.message)}
          />
        )}
        {state === "done" && <Note kind="good" title={t("passwordChanged")} />}
        <Field
          label={t("currentPassword")}
          type="password"
          autoComplete="current-password"
          value={current}
          onChange={setCurrent}
          required
          error={problem?.fields.get("/current") ?? ""}
        />
        <Field
          label={t("newPassword")}
          type="password"
          autoComplete="new-password"
          value={fresh}
          onChange={setFresh}
          hint={t("atLeast8")}
          required
          error={problem?.fields.get("/new") ?? ""}
        />
        <button type="submit" className="button primary" disabled={state === "busy"}>
          {state === "busy" ? t("changing") : t("changePassword")}
        </button>
      </form>
    </section>
  );
}
