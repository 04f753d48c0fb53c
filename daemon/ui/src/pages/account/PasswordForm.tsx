/** Change the password. */

import { type FormEvent, useState } from "react";
import { type Problem, toProblem } from "../../api/client";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { changePassword } from "../../state/session";

const SENTENCES: Record<string, string> = {
  invalid_credentials: "The current password is wrong.",
  rate_limited: "Too many attempts. Try again in a minute.",
  invalid: "The password was not changed; see below.",
};

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
      <h2>Change the password</h2>
      <form onSubmit={submit} noValidate>
        {problem !== null && <Note kind="bad" title={SENTENCES[problem.code] ?? problem.message} />}
        {state === "done" && (
          <Note kind="good" title="The password is changed, and all other sessions have ended." />
        )}
        <Field
          label="Current password"
          type="password"
          autoComplete="current-password"
          value={current}
          onChange={setCurrent}
          required
          error={problem?.fields.get("/current") ?? ""}
        />
        <Field
          label="New password"
          type="password"
          autoComplete="new-password"
          value={fresh}
          onChange={setFresh}
          hint="At least 8 characters"
          required
          error={problem?.fields.get("/new") ?? ""}
        />
        <button type="submit" className="button primary" disabled={state === "busy"}>
          {state === "busy" ? "Changing…" : "Change the password"}
        </button>
      </form>
    </section>
  );
}
