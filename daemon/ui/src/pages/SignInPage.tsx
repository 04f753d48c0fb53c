/** Sign in, or create an account. */

import { type FormEvent, useState } from "react";
import { get, type Problem, toProblem } from "../api/client";
import type { AuthOptions } from "../api/types";
import { Note } from "../components/Feedback";
import { Field } from "../components/Field";
import { Heading } from "../components/Heading";
import { Brand } from "../components/Icon";
import { register, signIn } from "../state/session";
import { useLoad } from "../state/useLoad";
import { account as t } from "../text/en/account";

export function SignInPage({ ended }: { ended: string }) {
  const [fresh, setFresh] = useState(false);
  const options = useLoad("options", () => get<AuthOptions>("/auth/options"));
  return (
    <main className="centered">
      <div className="sign-in">
        <p className="sign-in-brand">
          <Brand size={30} /> Penstock
        </p>
        <p className="sign-in-text">{t("motto")}</p>
        {fresh ? <Register /> : <SignIn ended={ended} />}
        {!fresh && <OtherWays options={options.value} />}
        {options.value?.registration !== "invited" && (
          <>
            <p className="sign-in-other">{fresh ? t("haveAccount") : t("newHere")}</p>
            <button type="button" className="button wide" onClick={() => setFresh(!fresh)}>
              {fresh ? t("signInInstead") : t("createAccount")}
            </button>
          </>
        )}
      </div>
    </main>
  );
}

/** Single sign-on, and a link for a forgotten password, where the service offers them. */
export function OtherWays({
  options,
  returnTo = "",
}: {
  options: AuthOptions | null;
  returnTo?: string;
}) {
  if (options === null) return null;
  const query = returnTo === "" ? "" : `?return_to=${encodeURIComponent(returnTo)}`;
  return (
    <>
      {options.sso && (
        <a className="button wide" href={`/auth/sso/start${query}`}>
          {t("sso")}
        </a>
      )}
      {options.password_reset && (
        <p className="sign-in-other">
          <a href="#/reset">{t("forgot")}</a>
        </p>
      )}
    </>
  );
}

function SignIn({ ended }: { ended: string }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const form = useForm(() => signIn(email, password, code));
  const asksForCode = form.problem?.body["second_factor"] !== undefined;
  return (
    <form onSubmit={form.submit} noValidate>
      <Heading title={t("signInTitle")} />
      {ended !== "" && <Note kind="info" title={ended} />}
      {form.problem !== null && <SignInError problem={form.problem} />}
      <EmailField value={email} onChange={setEmail} error={form.error("/email")} />
      <Field
        label={t("passwordLabel")}
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        required
        error={form.error("/password")}
      />
      {asksForCode && <CodeField value={code} onChange={setCode} />}
      <button type="submit" className="button primary wide" disabled={form.busy}>
        {form.busy ? t("signingIn") : t("signInTitle")}
      </button>
    </form>
  );
}

function Register() {
  const [company, setCompany] = useState("");
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const form = useForm(() => register(email, password, company, name));
  return (
    <form onSubmit={form.submit} noValidate>
      <Heading title={t("createAccount")} />
      <p className="muted">{t("createsCompany")}</p>
      {form.problem !== null && <SignInError problem={form.problem} />}
      <Field
        label={t("company")}
        autoComplete="organization"
        value={company}
        onChange={setCompany}
        required
        error={form.error("/company_name")}
      />
      <Field
        label={t("yourName")}
        autoComplete="name"
        value={name}
        onChange={setName}
        error={form.error("/name")}
      />
      <EmailField value={email} onChange={setEmail} error={form.error("/email")} />
      <Field
        label={t("passwordLabel")}
        type="password"
        autoComplete="new-password"
        value={password}
        onChange={setPassword}
        hint={t("atLeast8")}
        required
        error={form.error("/password")}
      />
      <button type="submit" className="button primary wide" disabled={form.busy}>
        {form.busy ? t("creating") : t("createTheAccount")}
      </button>
    </form>
  );
}

export function EmailField(props: {
  value: string;
  onChange: (value: string) => void;
  error: string;
}) {
  return <Field label={t("email")} type="email" autoComplete="username" required {...props} />;
}

export function CodeField(props: { value: string; onChange: (value: string) => void }) {
  return (
    <Field
      label={t("factorCode")}
      autoComplete="one-time-code"
      inputMode="numeric"
      required
      {...props}
    />
  );
}

export function SignInError({ problem }: { problem: Problem }) {
  const asksForCode =
    problem.code === "invalid_credentials" && problem.body["second_factor"] !== undefined;
  const title = asksForCode ? problem.message : t.code("signIn", problem.code, problem.message);
  return <Note kind="bad" title={title} />;
}

export function useForm(act: () => Promise<void>) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setProblem(null);
    act().catch((error: unknown) => {
      setProblem(toProblem(error));
      setBusy(false);
    });
  };
  return { busy, problem, submit, error: (pointer: string) => problem?.fields.get(pointer) ?? "" };
}
