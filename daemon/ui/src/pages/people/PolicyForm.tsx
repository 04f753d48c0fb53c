/** What the company asks of its people. */

import { type FormEvent, useState } from "react";
import { equal, parseNumber } from "../../api/json";
import { get, type Problem, send, toProblem } from "../../api/client";
import { getFunctions } from "../../api/resources";
import type { Policy } from "../../api/types";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { FormProblem } from "../../components/FieldErrors";
import { Check, Field } from "../../components/Field";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { numberJson } from "../../text/formats";
import { isAtLeast } from "../../text/labels";
import { changes } from "../../text/en/changes";
import { people as t } from "../../text/en/people";

const NOBODY = "";
const SECOND_FACTOR_FROM = ["owner", "admin", "manager", "member", "viewer"] as const;

export function PolicyCard() {
  const { company } = useAccount();
  const path = `/companies/${encodeURIComponent(company.id)}/policy`;
  const { value, problem, reload, set } = useLoad(path, () => get<Policy>(path));
  return (
    <section className="card" aria-label={t("policy")}>
      <h2>{t("policy")}</h2>
      {value === null ? (
        problem === null ? (
          <Loading rows={1} what={t("loadingPolicy")} />
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
  const [passwords, setPasswords] = useState(policy.passwords);
  const [required, setRequired] = useState(policy.functions === "required");
  const [gates, setGates] = useState<Gates>(policy.change_gates ?? { acts: [], function: null });
  const [days, setDays] = useState(policy.archive_after_days?.toString() ?? "");
  const [state, setState] = useState<"" | "busy" | "done" | Problem>("");
  const lacking = from !== NOBODY && isAtLeast(account.role, from) && !account.second_factor;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (state === "busy" || lacking) return;
    setState("busy");
    const body = changedMembers(policy, {
      archive_after_days: daysOf(days),
      second_factor_from: from === NOBODY ? null : from,
      passwords,
      solo,
      functions: required ? "required" : "optional",
      change_gates: gates.acts.length === 0 ? null : gates,
    });
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
      <FormProblem problem={typeof state === "object" ? state : null} />
      {state === "done" && <Note kind="good" title={t("policyChanged")} />}
      <Field
        label={t("whoNeedsFactor")}
        hint={t("whoNeedsHint")}
        value={from}
        onChange={setFrom}
        required
        options={[
          { value: NOBODY, name: t("factorNobody") },
          ...SECOND_FACTOR_FROM.map((role) => ({ value: role, name: t(`factorFrom.${role}`) })),
        ]}
      />
      {lacking && (
        <Note kind="warn" title={t("noFactor")}>
          <p>{t("setOneUp", { link: <a href="#/account">{t("setOneUpLink")}</a> })}</p>
        </Note>
      )}
      <Field
        label={t("archiveAfter")}
        hint={t("archiveHint")}
        value={days}
        onChange={setDays}
        inputMode="numeric"
        error={typeof state === "object" ? state.fields.get("/archive_after_days") : undefined}
      />
      <Check label={t("passwords")} checked={passwords} onChange={setPasswords} />
      <Check label={t("solo")} checked={solo} onChange={setSolo} />
      <Check label={t("functionsRequired")} checked={required} onChange={setRequired} />
      <GateFields gates={gates} onChange={setGates} />
      <button type="submit" className="button primary" disabled={state === "busy" || lacking}>
        {t("savePolicy")}
      </button>
    </form>
  );
}

type Gates = NonNullable<Policy["change_gates"]>;

const ACTS = ["go_live", "policy_off", "publish_laxer"] as const;

/** Which changes another person approves, and who. */
function GateFields({ gates, onChange }: { gates: Gates; onChange: (gates: Gates) => void }) {
  const company = `/companies/${encodeURIComponent(useAccount().company.id)}`;
  const found = useLoad(`functions of ${company}`, () => getFunctions(company)).value ?? {};
  const named = gates.function ?? NOBODY;
  const known = Object.entries(found).map(([id, { label }]) => ({ value: id, name: label }));
  const missing = named !== NOBODY && !Object.hasOwn(found, named);
  return (
    <fieldset className="ways">
      <legend>{changes("gates")}</legend>
      <p className="hint">{changes("gatesHint")}</p>
      {ACTS.map((act) => (
        <Check
          key={act}
          label={changes(`gate.${act}`)}
          checked={gates.acts.includes(act)}
          onChange={(on) =>
            onChange({
              ...gates,
              acts: ACTS.filter((one) => (one === act ? on : gates.acts.includes(one))),
            })
          }
        />
      ))}
      {gates.acts.length > 0 && (
        <Field
          label={changes("gateFunction")}
          value={named}
          onChange={(id) => onChange({ ...gates, function: id === NOBODY ? null : id })}
          required
          options={[
            { value: NOBODY, name: changes("gateAdmins") },
            ...known,
            ...(missing ? [{ value: named, name: named }] : []),
          ]}
        />
      )}
    </fieldset>
  );
}

/** The members that were changed here: what somebody else changed meanwhile stays as it is. */
function changedMembers(policy: Policy, members: Record<string, unknown>): Record<string, unknown> {
  const stored: Record<string, unknown> = { ...policy };
  return Object.fromEntries(
    Object.entries(members).filter(([name, value]) => !equal(value, stored[name] ?? null)),
  );
}

/** The days, or null for never; what is no number is sent as it stands, for the service to refuse. */
function daysOf(text: string): unknown {
  return text.trim() === "" ? null : (parseNumber(numberJson(text)) ?? text);
}
