/** Functions that templates name: who fills each, where it decides, and what stands in for nobody. */

import { useState } from "react";
import { getAll, type Problem, send, toProblem } from "../../api/client";
import { usePeopleChanges } from "../../api/eventStream";
import { equal } from "../../api/json";
import { getFunctions } from "../../api/resources";
import type { CompanyFunction, Group } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { FormProblem } from "../../components/FieldErrors";
import { Check } from "../../components/Field";
import { Label } from "../../components/Text";
import { useMembers } from "../../state/members";
import { linkTo } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad, useTemplateTitles } from "../../state/useLoad";
import { people as t } from "../../text/en/people";
import { formatList } from "../../text/formats";
import { aRole } from "../../text/labels";

const GROUPS_MAX = 500;

export function Functions({ manages }: { manages: boolean }) {
  const company = `/companies/${encodeURIComponent(useAccount().company.id)}`;
  const { value, problem, reload, set } = useLoad(`functions of ${company}`, () =>
    getFunctions(company),
  );
  usePeopleChanges(reload);
  const [editing, setEditing] = useState<string | null>(null);
  const edited = editing === null ? undefined : value?.[editing];
  return (
    <section className="card whole-row" aria-label={t("functions")}>
      <h2>{t("functions")}</h2>
      <p className="muted small gap">{t("functionsHint")}</p>
      {value === null ? (
        problem === null ? (
          <Loading rows={1} what={t("loadingFunctions")} />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : Object.keys(value).length === 0 ? (
        <p className="muted">{t("noFunction")}</p>
      ) : (
        <ul className="sessions" aria-label={t("functions")}>
          {Object.entries(value).map(([id, one]) => (
            <FunctionItem
              key={id}
              id={id}
              one={one}
              onEdit={manages ? () => setEditing(id) : null}
            />
          ))}
        </ul>
      )}
      {editing !== null && edited !== undefined && (
        <BindDialog
          company={company}
          id={editing}
          one={edited}
          onStored={(next) => {
            set(next);
            setEditing(null);
          }}
          onNo={() => setEditing(null)}
        />
      )}
    </section>
  );
}

function FunctionItem({
  id,
  one,
  onEdit,
}: {
  id: string;
  one: CompanyFunction;
  onEdit: (() => void) | null;
}) {
  const titles = useTemplateTitles();
  return (
    <li>
      <div>
        <p>
          <strong>
            <Label text={one.label} />
          </strong>{" "}
          <code>{id}</code>
        </p>
        <p className="small">
          <HeldBy one={one} />
        </p>
        {one.used_by.map((use) => (
          <p className="muted small" key={use.vertical}>
            {t("decidesIn", {
              template: (
                <a href={linkTo("templates", use.vertical)}>
                  <Label text={titles.get(use.vertical) ?? use.vertical} maxLength={80} />
                </a>
              ),
              steps: <Label text={formatList(use.steps)} maxLength={200} />,
            })}
          </p>
        ))}
        {one.used_by.length === 0 && <p className="muted small">{t("functionUnused")}</p>}
      </div>
      {onEdit !== null && (
        <div className="member-actions">
          <button type="button" className="button" onClick={onEdit}>
            {t("bind")}
            <span className="visually-hidden"> {one.label}</span>
          </button>
        </div>
      )}
    </li>
  );
}

/** Who fills a function; who decides while nobody does. */
export function HeldBy({ one }: { one: CompanyFunction }) {
  const members = useMembers().value ?? [];
  if (!one.bound)
    return (
      <strong>
        {one.role === null ? t("unbound") : t("unboundRole", { role: aRole(one.role) })}
      </strong>
    );
  const names = one.members.map((id) => {
    const found = members.find((member) => member.id === id);
    return found === undefined ? t("formerMember") : (found.name ?? found.email);
  });
  const who = [...one.groups.map((name) => t("groupNamed", { name })), ...names];
  return (
    <>
      <Label text={t("heldBy", { who: formatList(who) })} maxLength={400} />{" "}
      {one.people === 0 ? (
        <strong>{t("nobodyFills")}</strong>
      ) : (
        <span className="muted">{t("peopleFill", { count: one.people })}</span>
      )}
    </>
  );
}

function BindDialog({
  company,
  id,
  one,
  onStored,
  onNo,
}: {
  company: string;
  id: string;
  one: CompanyFunction;
  onStored: (next: Record<string, CompanyFunction>) => void;
  onNo: () => void;
}) {
  const members = useMembers().value;
  const active = (members ?? []).filter((member) => member.status === "active");
  const groups = useLoad(`groups of ${company}`, () =>
    getAll<Group>(`${company}/groups?limit=200`, GROUPS_MAX),
  ).value;
  const [begun] = useState(one);
  const meanwhile = !equal([begun.groups, begun.members], [one.groups, one.members]);
  const [binding, setBinding] = useState({ groups: one.groups, members: one.members });
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const nobody = binding.groups.length === 0 && binding.members.length === 0;
  const bind = () => {
    setBusy(true);
    setProblem(null);
    // Those who have left are not among the choices.
    const there = binding.members.filter(
      (one) => members === null || active.some((member) => member.id === one),
    );
    send<Record<string, CompanyFunction>>("PUT", `${company}/functions`, {
      body: { [id]: { ...binding, members: there } },
    }).then(
      ({ value }) => onStored(value),
      (error: unknown) => {
        setProblem(toProblem(error));
        setBusy(false);
      },
    );
  };
  return (
    <Dialog
      title={t("bindTitle", { name: one.label })}
      yes={nobody ? t("unbind") : t("bind")}
      no={t("keepBinding")}
      busy={busy}
      onNo={onNo}
      onYes={bind}
    >
      <p>{t("bindHint")}</p>
      {meanwhile && (
        <Note kind="warn" title={t("changedMeanwhile")}>
          <p>
            <HeldBy one={one} />
          </p>
        </Note>
      )}
      <FormProblem problem={problem} />
      <fieldset className="ways">
        <legend>{t("groups")}</legend>
        {groups?.length === 0 && <p className="muted small">{t("noGroups")}</p>}
        {(groups ?? []).map(({ name }) => (
          <Check
            key={name}
            label={<Label text={name} />}
            checked={binding.groups.includes(name)}
            onChange={(on) => setBinding({ ...binding, groups: toggled(binding.groups, name, on) })}
          />
        ))}
      </fieldset>
      <fieldset className="ways">
        <legend>{t("members")}</legend>
        {active.map((member) => (
          <Check
            key={member.id}
            label={<Label text={member.name ?? member.email} />}
            checked={binding.members.includes(member.id)}
            onChange={(on) =>
              setBinding({ ...binding, members: toggled(binding.members, member.id, on) })
            }
          />
        ))}
      </fieldset>
      {nobody && (
        <Note
          kind="info"
          title={one.role === null ? t("unbound") : t("unboundRole", { role: aRole(one.role) })}
        />
      )}
    </Dialog>
  );
}

function toggled(names: string[], name: string, on: boolean): string[] {
  return on ? [...names, name] : names.filter((one) => one !== name);
}
