/** What a new company can do first, in place of an empty inbox. */

import { useState } from "react";
import { EmptyState, Loading } from "../../components/Feedback";
import { Icon } from "../../components/Icon";
import {
  areHidden,
  type FirstSteps as Done,
  getFirstSteps,
  hideFirstSteps,
} from "../../state/firstSteps";
import { useGateCount } from "../../state/inbox";
import { useMembers } from "../../state/members";
import { linkTo } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { isAtLeast, rolesFrom } from "../../text/labels";
import { inbox as t } from "../../text/en/inbox";

interface Item {
  id: string;
  name: string;
  about: string;
  address: string;
  /** The least role that may do it. */
  role: "member" | "admin";
  done: boolean;
}

/** The inbox without a gate: the first steps of a new company, or a word that all is done. */
export function EmptyInbox() {
  const account = useAccount();
  const open = useGateCount()?.open;
  const members = useMembers().value;
  const [hidden, setHidden] = useState(() => areHidden(account.member_id ?? account.user.id));
  const wanted = !hidden && open === 0 && isAtLeast(account.role, "member");
  const { value, done } = useLoad(`first steps ${account.company.id} ${wanted}`, () =>
    wanted ? getFirstSteps() : Promise.resolve(null),
  );
  if (open === undefined || (wanted && !done && value === null)) return <Loading rows={3} />;
  const items = value === null || members === null ? [] : itemsOf(value, members.length > 1);
  if (!wanted || items.every((item) => item.done)) return <UpToDate />;
  const hide = () => {
    hideFirstSteps(account.member_id ?? account.user.id);
    setHidden(true);
  };
  return <Checklist items={items} role={account.role} onHide={hide} />;
}

function UpToDate() {
  return (
    <EmptyState icon="done" title={t("upToDate")}>
      <p>{t("appearsHere")}</p>
      <a className="button primary" href="#/templates">
        {t("startRun")}
      </a>
    </EmptyState>
  );
}

function itemsOf(done: Done, invited: boolean): Item[] {
  return [
    {
      id: "example",
      name: t("tryExample"),
      about: t("tryExampleHint"),
      address:
        done.example === null ? "#/templates" : `${linkTo("templates", done.example)}?example=1`,
      role: "member",
      done: done.started,
    },
    {
      id: "connect",
      name: t("connectTool"),
      about: t("connectHint"),
      address: "#/connectors",
      role: "member",
      done: done.connected,
    },
    {
      id: "invite",
      name: t("inviteColleague"),
      about: t("inviteHint"),
      address: "#/people",
      role: "admin",
      done: invited,
    },
    {
      id: "draw",
      name: t("drawOwn"),
      about: t("drawHint"),
      address: "#/templates?new=1",
      role: "member",
      done: done.drawn,
    },
  ];
}

function Checklist({ items, role, onHide }: { items: Item[]; role: string; onHide: () => void }) {
  const count = items.filter((item) => item.done).length;
  return (
    <section className="card first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">{t("getStarted")}</h2>
      <p className="muted">
        {t("doneOf", { done: count, all: items.length })} {t("appearsHere")}
      </p>
      <ol>
        {items.map((item) => (
          <li key={item.id} className={item.done ? "done" : ""}>
            <span className="first-step-mark">{item.done && <Icon name="done" size={16} />}</span>
            <div>
              <p>
                {item.done || !isAtLeast(role, item.role) ? (
                  <strong>{item.name}</strong>
                ) : (
                  <a href={item.address}>{item.name}</a>
                )}
                {item.done && <span className="visually-hidden"> {t("done")}</span>}
              </p>
              <p className="muted small">
                {item.done || isAtLeast(role, item.role)
                  ? item.about
                  : t("roleDoes", { roles: rolesFrom(item.role) })}
              </p>
            </div>
          </li>
        ))}
      </ol>
      <p className="actions">
        <a className="button" href="#/templates">
          {t("allTemplates")}
        </a>
        <button type="button" className="link" onClick={onHide}>
          {t("hideList")}
        </button>
      </p>
    </section>
  );
}
