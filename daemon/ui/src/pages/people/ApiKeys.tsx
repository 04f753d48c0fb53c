/** API keys of services and agents, which never decide at a gate. */

import { type FormEvent, useState } from "react";
import { getAll, post, type Problem, remove, toProblem } from "../../api/client";
import type { ApiKey, NewApiKey } from "../../api/types";
import { FormProblem } from "../../components/FieldErrors";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { Label } from "../../components/Text";
import { useLoad } from "../../state/useLoad";
import { formatTime, roleLabel } from "../../text/labels";
import { people as t } from "../../text/en/people";

const KEYS_MAX = 1_000;
const KINDS = ["agent", "service"] as const;
const ROLES_OF: Record<string, string[]> = {
  agent: ["viewer", "member"],
  service: ["viewer", "member", "manager", "admin"],
};

export function ApiKeys({ manages }: { manages: boolean }) {
  const { value, problem, reload } = useLoad("api keys", () =>
    getAll<ApiKey>("/api-keys?limit=200", KEYS_MAX),
  );
  const [made, setMade] = useState<NewApiKey | null>(null);
  const [failed, setFailed] = useState<Problem | null>(null);
  return (
    <section className="card">
      <h2>{t("apiKeys")}</h2>
      {failed !== null && <Note kind="bad" title={failed.message} />}
      {made !== null && (
        <Note kind="good" title={t("keyMade", { name: made.name })}>
          <p>
            <code className="wrap">{made.key}</code>
          </p>
        </Note>
      )}
      {value === null ? (
        problem === null ? (
          <Loading rows={1} what={t("loadingKeys")} />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : (
        <ul className="sessions" aria-label={t("apiKeys")}>
          {value.map((key) => (
            <li key={key.id}>
              <div>
                <p>
                  <strong>
                    <Label text={key.name} />
                  </strong>{" "}
                  · {t(`kind.${key.kind}`)}, {roleLabel(key.role)}
                </p>
                <p className="muted small">
                  <code>{key.prefix}…</code>,{" "}
                  {key.last_used_at === null
                    ? t("neverUsed")
                    : t("lastUsed", { at: formatTime(key.last_used_at) })}
                  {key.expires_at !== null &&
                    `, ${t("expires", { at: formatTime(key.expires_at) })}`}
                </p>
              </div>
              {manages && (
                <button
                  type="button"
                  className="button"
                  onClick={() =>
                    void remove(`/api-keys/${key.id}`)
                      .then(() => setFailed(null))
                      .catch((error: unknown) => setFailed(toProblem(error)))
                      .finally(reload)
                  }
                >
                  {t("delete")}
                  <span className="visually-hidden"> {key.name}</span>
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {manages && (
        <KeyForm
          onMade={(key) => {
            setMade(key);
            reload();
          }}
        />
      )}
    </section>
  );
}

function KeyForm({ onMade }: { onMade: (key: NewApiKey) => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState("agent");
  const [role, setRole] = useState("member");
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setProblem(null);
    post<NewApiKey>("/api-keys", { name, kind, role }).then(
      (key) => {
        setName("");
        onMade(key);
      },
      (error: unknown) => setProblem(toProblem(error)),
    );
  };
  return (
    <form onSubmit={submit} noValidate>
      <h3>{t("makeAKey")}</h3>
      <FormProblem problem={problem} />
      <Field
        label={t("keyName")}
        value={name}
        onChange={setName}
        required
        error={problem?.fields.get("/name") ?? ""}
      />
      <Field
        label={t("kind")}
        value={kind}
        onChange={(next) => {
          setKind(next);
          setRole("member");
        }}
        required
        options={KINDS.map((one) => ({ value: one, name: t(`keyKind.${one}`) }))}
      />
      <Field
        label={t("roleOfKey")}
        value={role}
        onChange={setRole}
        required
        options={(ROLES_OF[kind] ?? []).map((one) => ({ value: one, name: roleLabel(one) }))}
        error={problem?.fields.get("/role") ?? ""}
      />
      <button type="submit" className="button primary">
        {t("makeKey")}
      </button>
    </form>
  );
}
