/** A forgotten password: ask for a link, or set another by one. */

import { useState } from "react";
import { post } from "../../api/client";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { Heading } from "../../components/Heading";
import { Brand } from "../../components/Icon";
import { EmailField, SignInError, useForm } from "../SignInPage";
import { account as t } from "../../text/en/account";

export default function ResetPage({ token }: { token: string }) {
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
          <Heading title={asks ? t("forgotten") : t("newPassword")} />
          {form.problem !== null && <SignInError problem={form.problem} />}
          {done ? (
            <Note kind="good" title={asks ? t("linkMailed") : t("passwordSet")} />
          ) : asks ? (
            <EmailField value={value} onChange={setValue} error={form.error("/email")} />
          ) : (
            <Field
              label={t("newPassword")}
              type="password"
              autoComplete="new-password"
              value={value}
              onChange={setValue}
              hint={t("atLeast8")}
              required
              error={form.error("/new")}
            />
          )}
          {!done && (
            <button type="submit" className="button primary wide" disabled={form.busy}>
              {asks ? t("mailLink") : t("changeThePassword")}
            </button>
          )}
        </form>
        <p className="sign-in-other">
          <a href="#/">{t("goToSignIn")}</a>
        </p>
      </div>
    </main>
  );
}
