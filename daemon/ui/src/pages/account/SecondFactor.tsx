/** Enrol a second factor, or remove it. */

import { type FormEvent, useState } from "react";
import { post, type Problem, send, toProblem } from "../../api/client";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { QrCode } from "./QrCode";
import { refreshAccount, useAccount } from "../../state/session";
import { account as t } from "../../text/en/account";

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
      label={t("code")}
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
      label={t("passwordLabel")}
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
      <h2>{t("secondFactor")}</h2>
      {problem !== null && <Note kind="bad" title={problem.message} />}
      {recovery !== null && (
        <Note kind="good" title={t("factorCounts")}>
          <p>{t("keepCodes")}</p>
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
          <p className="muted">{t("asksForCode")}</p>
          {passwordField}
          {codeField}
          <button type="submit" className="button" disabled={busy}>
            {t("removeFactor")}
          </button>
        </form>
      ) : enrolment === null ? (
        <form onSubmit={begin} noValidate>
          <p className="muted">{t("appMakesCode")}</p>
          {passwordField}
          <button type="submit" className="button primary" disabled={busy}>
            {t("setUpFactor")}
          </button>
        </form>
      ) : (
        <form onSubmit={confirm} noValidate>
          <QrCode text={enrolment.uri} label={t("qrCode")} />
          <p>
            {t("enterKey", {
              link: <a href={enrolment.uri}>{t("openApp")}</a>,
              secret: <code className="wrap">{enrolment.secret}</code>,
            })}
          </p>
          {codeField}
          <button type="submit" className="button primary" disabled={busy}>
            {t("confirm")}
          </button>
        </form>
      )}
    </section>
  );
}
