/** Groups: members under a name. */

import { type FormEvent, useState } from "react";
import { getAll, type Problem, remove, send, toProblem } from "../../api/client";
import type { Group } from "../../api/types";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Check, Field } from "../../components/Field";
import { Label } from "../../components/Text";
import { useMembers } from "../../state/members";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { common } from "../../text/en/common";
import { people as t } from "../../text/en/people";

const GROUPS_MAX = 500;

export function Groups({ manages }: { manages: boolean }) {
  const { company } = useAccount();
  const path = `/companies/${encodeURIComponent(company.id)}/groups`;
  const { value, problem, reload } = useLoad(path, () =>
    getAll<Group>(`${path}?limit=200`, GROUPS_MAX),
  );
  const active = (useMembers().value ?? []).filter((member) => member.status === "active");
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const [failed, setFailed] = useState<Problem | null>(null);
  const act = (doing: Promise<unknown>) => {
    setFailed(null);
    doing.then(reload, (error: unknown) => setFailed(toProblem(error)));
  };
  const names = new Map(active.map((member) => [member.id, member.name ?? member.email]));
  const save = (event: FormEvent) => {
    event.preventDefault();
    act(send("PUT", `${path}/${encodeURIComponent(name)}`, { body: { members: chosen } }));
  };
  return (
    <section className="card">
      <h2>{t("groups")}</h2>
      {failed !== null && (
        <Note kind="bad" title={failed.status === 404 ? t("groupName") : failed.message} />
      )}
      {value === null ? (
        problem === null ? (
          <Loading rows={1} what={t("loadingGroups")} />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : (
        <ul className="sessions" aria-label={t("groups")}>
          {value.map((group) => (
            <li key={group.name}>
              <div>
                <p>
                  <strong>{group.name}</strong>
                </p>
                <p className="muted small">
                  <Label text={group.members.map((id) => names.get(id) ?? id).join(", ")} />
                </p>
              </div>
              {manages && (
                <div className="member-actions">
                  <button
                    type="button"
                    className="button"
                    onClick={() => {
                      setName(group.name);
                      setChosen(group.members);
                    }}
                  >
                    {t("edit")}
                    <span className="visually-hidden"> {group.name}</span>
                  </button>
                  <button
                    type="button"
                    className="button"
                    onClick={() => act(remove(`${path}/${encodeURIComponent(group.name)}`))}
                  >
                    {t("delete")}
                    <span className="visually-hidden"> {group.name}</span>
                  </button>
                </div>
              )}
            </li>
          ))}
        </ul>
      )}
      {manages && (
        <form onSubmit={save} noValidate>
          <h3>{t("writeGroup")}</h3>
          <Field label={common("name")} value={name} onChange={setName} required />
          {active.map((member) => (
            <Check
              key={member.id}
              label={<Label text={member.name ?? member.email} />}
              checked={chosen.includes(member.id)}
              onChange={(on) =>
                setChosen(on ? [...chosen, member.id] : chosen.filter((id) => id !== member.id))
              }
            />
          ))}
          <button type="submit" className="button primary">
            {t("saveGroup")}
          </button>
        </form>
      )}
    </section>
  );
}
