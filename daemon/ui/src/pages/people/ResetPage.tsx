/** A forgotten password: ask for a link, or set another by one. */

import { useState } from "react";
import { post } from "../../api/client";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { Heading } from "../../components/Heading";
import { Brand } from "../../components/Icon";
import { EmailField, SignInError, useForm } from "../SignInPage";

export function ResetPage({ token }: { token: string }) {
  const [value, setValue] = useState("");
  const [done, setDone] = useState(false);
  const asks = token === "";
  const form = useForm(async () => {
    if (asks) await post("/auth/password/forgotten", { email: value });
    else await post("/auth/password/reset", { token, new: value });
    setDone(true);
  });
  return (
    <main className="centered">
      <div className="sign-in">
        <p className="sign-in-brand">
          <Brand size={30} /> Penstock
        </p>
        <form onSubmit={form.submit} noValidate>
          <Heading title={asks ? "Forgotten password" : "New password"} />
          {form.problem !== null && <SignInError problem={form.problem} />}
          {done ? (
            <Note
              kind="good"
              title={
                asks
                  ? "If there is an account with this address, a link was mailed to it."
                  : "The password is changed. Sign in with it."
              }
            />
          ) : asks ? (
            <EmailField value={value} onChange={setValue} error={form.error("/email")} />
          ) : (
            <Field
              label="New password"
              type="password"
              autoComplete="new-password"
              value={value}
              onChange={setValue}
              hint="At least 8 characters"
              required
              error={form.error("/new")}
            />
          )}
          {!done && (
            <button type="submit" className="button primary wide" disabled={form.busy}>
              {asks ? "Mail me a link" : "Change the password"}
            </button>
          )}
        </form>
        <p className="sign-in-other">
          <a href="#/">Go to the sign-in</a>
        </p>
      </div>
    </main>
  );
}
