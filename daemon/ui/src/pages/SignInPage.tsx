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

export function SignInPage({ ended }: { ended: string }) {
  const [fresh, setFresh] = useState(false);
  const options = useLoad("options", () => get<AuthOptions>("/auth/options"));
  return (
    <main className="centered">
      <div className="sign-in">
        <p className="sign-in-brand">
          <Brand size={30} /> Penstock
        </p>
        <p className="sign-in-text">Safe steps run automatically. A person decides the rest.</p>
        {fresh ? <Register /> : <SignIn ended={ended} />}
        {!fresh && <OtherWays options={options.value} />}
        {options.value?.registration !== "invited" && (
          <>
            <p className="sign-in-other">{fresh ? "Already have an account?" : "New here?"}</p>
            <button type="button" className="button wide" onClick={() => setFresh(!fresh)}>
              {fresh ? "Sign in instead" : "Create an account"}
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
          Sign in with single sign-on
        </a>
      )}
      {options.password_reset && (
        <p className="sign-in-other">
          <a href="#/reset">Forgot your password?</a>
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
      <Heading title="Sign in" />
      {ended !== "" && <Note kind="info" title={ended} />}
      {form.problem !== null && <SignInError problem={form.problem} />}
      <EmailField value={email} onChange={setEmail} error={form.error("/email")} />
      <Field
        label="Password"
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        required
        error={form.error("/password")}
      />
      {asksForCode && <CodeField value={code} onChange={setCode} />}
      <button type="submit" className="button primary wide" disabled={form.busy}>
        {form.busy ? "Signing in…" : "Sign in"}
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
      <Heading title="Create an account" />
      <p className="muted">This creates a company with you as its owner.</p>
      {form.problem !== null && <SignInError problem={form.problem} />}
      <Field
        label="Company"
        autoComplete="organization"
        value={company}
        onChange={setCompany}
        required
        error={form.error("/company_name")}
      />
      <Field
        label="Your name"
        autoComplete="name"
        value={name}
        onChange={setName}
        error={form.error("/name")}
      />
      <EmailField value={email} onChange={setEmail} error={form.error("/email")} />
      <Field
        label="Password"
        type="password"
        autoComplete="new-password"
        value={password}
        onChange={setPassword}
        hint="At least 8 characters"
        required
        error={form.error("/password")}
      />
      <button type="submit" className="button primary wide" disabled={form.busy}>
        {form.busy ? "Creating…" : "Create the account"}
      </button>
    </form>
  );
}

export function EmailField(props: {
  value: string;
  onChange: (value: string) => void;
  error: string;
}) {
  return <Field label="E-mail address" type="email" autoComplete="username" required {...props} />;
}

export function CodeField(props: { value: string; onChange: (value: string) => void }) {
  return (
    <Field
      label="Code of your second factor"
      autoComplete="one-time-code"
      inputMode="numeric"
      required
      {...props}
    />
  );
}

export function SignInError({ problem }: { problem: Problem }) {
  const said: Record<string, string> = {
    invalid_credentials:
      problem.body["second_factor"] === undefined
        ? "The e-mail address or the password is wrong."
        : problem.message,
    email_taken: "An account with this e-mail address exists. Sign in instead.",
    rate_limited: "Too many attempts. Try again in a minute.",
    invalid: "Some fields are missing or invalid; see below.",
  };
  return <Note kind="bad" title={said[problem.code] ?? problem.message} />;
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
