/** An invitation: accepted with the account that is signed in, or with a new one. */

import { useState } from "react";
import { get, post, toProblem } from "../../api/client";
import type { AuthOptions, InvitationDetails } from "../../api/types";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { Heading } from "../../components/Heading";
import { Brand } from "../../components/Icon";
import { Label } from "../../components/Text";
import { acceptInvitation, joinWith, signOut, useSession } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { linkTo } from "../../state/router";
import { aRole, formatTime } from "../../text/labels";
import { CodeField, OtherWays, SignInError, useForm } from "../SignInPage";
import { common } from "../../text/en/common";
import { account as t } from "../../text/en/account";

export default function InvitationPage({ token }: { token: string }) {
  const session = useSession();
  const { value, problem, reload } = useLoad(`invitation ${token}`, () =>
    post<InvitationDetails>("/auth/invitation", { token }),
  );
  const over = problem?.status === 410 || problem?.status === 404;
  return (
    <main className="centered">
      <div className="sign-in">
        <p className="sign-in-brand">
          <Brand size={30} /> Penstock
        </p>
        {value !== null ? (
          <>
            <Heading title={t("join", { company: value.company })} />
            <p>
              {t("invitedAs", {
                email: <Label text={value.email} />,
                role: aRole(value.role),
                until: formatTime(value.expires_at),
              })}
            </p>
            {session.state === "in" ? (
              <Accept token={token} invited={value} email={session.account.user.email} />
            ) : (
              <Join token={token} invited={value} />
            )}
          </>
        ) : over ? (
          <>
            <Heading title={t("invitationEnded")} />
            <p>{t("invitationUsed")}</p>
            <a className="button wide" href="#/">
              {t("goOn")}
            </a>
          </>
        ) : problem !== null ? (
          <LoadError problem={problem} retry={reload} />
        ) : (
          <Loading what={t("loadingInvitation")} rows={3} />
        )}
      </div>
    </main>
  );
}

function Accept({
  token,
  invited,
  email,
}: {
  token: string;
  invited: InvitationDetails;
  email: string;
}) {
  const [failed, setFailed] = useState("");
  const form = useForm(() => acceptInvitation(token));
  if (email.toLowerCase() !== invited.email.toLowerCase())
    return (
      <>
        <Note kind="warn" title={t("signedInAs", { email })}>
          <p>{t("signOutFirst")}</p>
        </Note>
        {failed !== "" && <p role="alert">{failed}</p>}
        <button
          type="button"
          className="button wide"
          onClick={() =>
            void signOut().catch((error: unknown) => setFailed(toProblem(error).message))
          }
        >
          {common("signOut")}
        </button>
      </>
    );
  return (
    <form onSubmit={form.submit}>
      {form.problem !== null && <SignInError problem={form.problem} />}
      <button type="submit" className="button primary wide" disabled={form.busy}>
        {t("accept")}
      </button>
    </form>
  );
}

function Join({ token, invited }: { token: string; invited: InvitationDetails }) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const options = useLoad("options", () => get<AuthOptions>("/auth/options"));
  const form = useForm(async () => {
    await joinWith(token, invited.email, { password, name, code });
    location.assign("#/");
  });
  const known = invited.has_account;
  const asksForCode = form.problem?.body["second_factor"] !== undefined;
  return (
    <form onSubmit={form.submit} noValidate>
      {form.problem?.code === "email_taken" ? (
        <Note kind="bad" title={t("wrongPassword")} />
      ) : (
        form.problem !== null && <SignInError problem={form.problem} />
      )}
      {!known && (
        <Field
          label={t("yourName")}
          autoComplete="name"
          value={name}
          onChange={setName}
          error={form.error("/name")}
        />
      )}
      <Field
        label={known ? t("passwordOfAccount") : t("passwordLabel")}
        type="password"
        autoComplete={known ? "current-password" : "new-password"}
        value={password}
        onChange={setPassword}
        {...(known ? {} : { hint: t("atLeast8") })}
        required
        error={form.error("/password")}
      />
      {asksForCode && <CodeField value={code} onChange={setCode} />}
      <button type="submit" className="button primary wide" disabled={form.busy}>
        {known ? t("signInAndJoin") : t("createAndJoin")}
      </button>
      {known && <OtherWays options={options.value} returnTo={linkTo("invitations", token)} />}
    </form>
  );
}
