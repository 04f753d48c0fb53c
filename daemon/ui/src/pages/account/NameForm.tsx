/** Change the name that others are shown. */

import { type FormEvent, useState } from "react";
import { type Problem, toProblem } from "../../api/client";
import { FormProblem } from "../../components/FieldErrors";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { loadMembers } from "../../state/members";
import { changeName, useAccount } from "../../state/session";
import { common } from "../../text/en/common";
import { account as t } from "../../text/en/account";

export function NameForm() {
  const account = useAccount();
  const [name, setName] = useState(account.user.name ?? "");
  const [state, setState] = useState<"" | "busy" | "done" | Problem>("");
  const problem = typeof state === "object" ? state : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (state === "busy") return;
    setState("busy");
    changeName(name).then(
      () => {
        setState("done");
        void loadMembers();
      },
      (error: unknown) => setState(toProblem(error)),
    );
  };
  return (
    <section className="card">
      <h2>{common("name")}</h2>
      <form onSubmit={submit} noValidate>
        <FormProblem problem={problem} />
        {state === "done" && <Note kind="good" title={t("nameChanged")} />}
        <Field
          label={t("yourName")}
          autoComplete="name"
          value={name}
          onChange={setName}
          error={problem?.fields.get("/name") ?? ""}
        />
        <button type="submit" className="button primary" disabled={state === "busy"}>
          {t("changeName")}
        </button>
      </form>
    </section>
  );
}
