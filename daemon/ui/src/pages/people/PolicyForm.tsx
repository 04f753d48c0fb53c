/** What the company asks of its people. */

import { type FormEvent, useState } from "react";
import { get, type Problem, send, toProblem } from "../../api/client";
import type { Policy } from "../../api/types";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Check, Field } from "../../components/Field";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { isAtLeast } from "../../text/labels";

const NOBODY = "";
const SECOND_FACTOR_OPTIONS = [
  { value: NOBODY, name: "Nobody" },
  { value: "owner", name: "The owner" },
  { value: "admin", name: "Admins and the owner" },
  { value: "manager", name: "Managers and those above" },
  { value: "member", name: "Members and those above" },
  { value: "viewer", name: "Everybody" },
];

export function PolicyCard() {
  const { company } = useAccount();
  const path = `/companies/${encodeURIComponent(company.id)}/policy`;
  const { value, problem, reload, set } = useLoad(path, () => get<Policy>(path));
  return (
    <section className="card" aria-label="Policy">
      <h2>Policy</h2>
      {value === null ? (
        problem === null ? (
          <Loading rows={1} what="Loading the policy" />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : (
        <PolicyForm path={path} policy={value} onStored={set} />
      )}
    </section>
  );
}

function PolicyForm({
  path,
  policy,
  onStored,
}: {
  path: string;
  policy: Policy;
  onStored: (policy: Policy) => void;
}) {
  const account = useAccount();
  const [from, setFrom] = useState<string>(policy.second_factor_from ?? NOBODY);
  const [solo, setSolo] = useState(policy.solo);
  const [days, setDays] = useState(policy.archive_after_days?.toString() ?? "");
  const [state, setState] = useState<"" | "busy" | "done" | Problem>("");
  const lacking = from !== NOBODY && isAtLeast(account.role, from) && !account.second_factor;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (state === "busy" || lacking) return;
    setState("busy");
    const body = {
      archive_after_days: days.trim() === "" ? null : Number(days),
      second_factor_from: from === NOBODY ? null : from,
      solo,
    };
    send<Policy>("PUT", path, { body }).then(
      (response) => {
        onStored(response.value);
        setState("done");
      },
      (error: unknown) => setState(toProblem(error)),
    );
  };
  return (
    <form onSubmit={submit} noValidate>
      {typeof state === "object" && <Note kind="bad" title={state.message} />}
      {state === "done" && <Note kind="good" title="The policy is changed, and counts at once." />}
      <Field
        label="Who needs a second factor"
        hint="Who has none can do nothing else until one is set up"
        value={from}
        onChange={setFrom}
        required
        options={SECOND_FACTOR_OPTIONS}
      />
      {lacking && (
        <Note kind="warn" title="You have no second factor yet.">
          <p>
            <a href="#/account">Set one up</a> before you ask for it.
          </p>
        </Note>
      )}
      <Field
        label="Archive runs so many days after their end"
        hint="Their events go into files, and hashes stay; empty for never"
        value={days}
        onChange={setDays}
        inputMode="numeric"
      />
      <Check
        label="While the company has one person, that person decides alone"
        checked={solo}
        onChange={setSolo}
      />
      <button type="submit" className="button primary" disabled={state === "busy" || lacking}>
        Save the policy
      </button>
    </form>
  );
}
