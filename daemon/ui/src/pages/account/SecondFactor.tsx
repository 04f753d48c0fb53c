/** Enrol a second factor, or remove it. */

import { type FormEvent, useState } from "react";
import { post, type Problem, send, toProblem } from "../../api/client";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { refreshAccount, useAccount } from "../../state/session";

interface Enrolment {
  secret: string;
  uri: string;
}

export function SecondFactor() {
  const account = useAccount();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null);
  const [recovery, setRecovery] = useState<string[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const act = (doing: () => Promise<void>) => (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setProblem(null);
    doing()
      .catch((error: unknown) => setProblem(toProblem(error)))
      .finally(() => setBusy(false));
  };
  const begin = act(async () => {
    setEnrolment(await post<Enrolment>("/auth/second-factor", { password }));
    setPassword("");
  });
  const confirm = act(async () => {
    const found = await post<{ recovery_codes: string[] }>("/auth/second-factor/confirm", { code });
    setRecovery(found.recovery_codes);
    setEnrolment(null);
    setCode("");
    await refreshAccount();
  });
  const remove = act(async () => {
    await send("DELETE", "/auth/second-factor", { body: { password, code } });
    setPassword("");
    setCode("");
    setRecovery(null);
    await refreshAccount();
  });
  const codeField = (
    <Field
      label="Code"
      autoComplete="one-time-code"
      inputMode="numeric"
      value={code}
      onChange={setCode}
      required
      error={problem?.fields.get("/code") ?? ""}
    />
  );
  const passwordField = (
    <Field
      label="Password"
      type="password"
      autoComplete="current-password"
      value={password}
      onChange={setPassword}
      required
      error={problem?.fields.get("/password") ?? ""}
    />
  );
  return (
    <section className="card">
      <h2>Second factor</h2>
      {problem !== null && <Note kind="bad" title={problem.message} />}
      {recovery !== null && (
        <Note kind="good" title="The second factor counts from now on.">
          <p>Keep these recovery codes. Each stands in for one code, and they are shown once:</p>
          <ul className="codes">
            {recovery.map((one) => (
              <li key={one}>
                <code>{one}</code>
              </li>
            ))}
          </ul>
        </Note>
      )}
      {account.second_factor ? (
        <form onSubmit={remove} noValidate>
          <p className="muted">Signing in asks for a code of your app.</p>
          {passwordField}
          {codeField}
          <button type="submit" className="button" disabled={busy}>
            Remove the second factor
          </button>
        </form>
      ) : enrolment === null ? (
        <form onSubmit={begin} noValidate>
          <p className="muted">An app on your phone makes a code for each sign-in.</p>
          {passwordField}
          <button type="submit" className="button primary" disabled={busy}>
            Set up a second factor
          </button>
        </form>
      ) : (
        <form onSubmit={confirm} noValidate>
          <p>
            Enter this key in your app, or <a href={enrolment.uri}>open the app</a>:{" "}
            <code className="wrap">{enrolment.secret}</code>
          </p>
          {codeField}
          <button type="submit" className="button primary" disabled={busy}>
            Confirm
          </button>
        </form>
      )}
    </section>
  );
}
