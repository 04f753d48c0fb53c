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
import { withArticle } from "../../text/sentences";
import { CodeField, OtherWays, SignInError, useForm } from "../SignInPage";

export function InvitationPage({ token }: { token: string }) {
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
            <Heading title={`Join ${value.company}`} />
            <p>
              <Label text={value.email} /> is invited as {withArticle(value.role)}.
            </p>
            {session.state === "in" ? (
              <Accept token={token} invited={value} email={session.account.user.email} />
            ) : (
              <Join token={token} invited={value} />
            )}
          </>
        ) : over ? (
          <>
            <Heading title="This invitation has ended" />
            <p>It was used or replaced, or it has expired. Ask for another.</p>
            <a className="button wide" href="#/">
              Go on
            </a>
          </>
        ) : problem !== null ? (
          <LoadError problem={problem} retry={reload} />
        ) : (
          <Loading what="Loading the invitation" rows={3} />
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
        <Note kind="warn" title={`You are signed in as ${email}.`}>
          <p>Sign out, and accept the invitation as the person who is invited.</p>
        </Note>
        {failed !== "" && <p role="alert">{failed}</p>}
        <button
          type="button"
          className="button wide"
          onClick={() =>
            void signOut().catch((error: unknown) => setFailed(toProblem(error).message))
          }
        >
          Sign out
        </button>
      </>
    );
  return (
    <form onSubmit={form.submit}>
      {form.problem !== null && <SignInError problem={form.problem} />}
      <button type="submit" className="button primary wide" disabled={form.busy}>
        Accept the invitation
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
        <Note kind="bad" title="The password is wrong." />
      ) : (
        form.problem !== null && <SignInError problem={form.problem} />
      )}
      {!known && (
        <Field
          label="Your name"
          autoComplete="name"
          value={name}
          onChange={setName}
          error={form.error("/name")}
        />
      )}
      <Field
        label={known ? "Password of your account" : "Password"}
        type="password"
        autoComplete={known ? "current-password" : "new-password"}
        value={password}
        onChange={setPassword}
        {...(known ? {} : { hint: "At least 8 characters" })}
        required
        error={form.error("/password")}
      />
      {asksForCode && <CodeField value={code} onChange={setCode} />}
      <button type="submit" className="button primary wide" disabled={form.busy}>
        {known ? "Sign in and join" : "Create the account and join"}
      </button>
      {known && <OtherWays options={options.value} returnTo={linkTo("invitations", token)} />}
    </form>
  );
}
