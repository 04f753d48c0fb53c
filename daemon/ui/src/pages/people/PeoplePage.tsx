/** The people of the company: members, invitations, groups and API keys. */

import { Note } from "../../components/Feedback";
import { Heading } from "../../components/Heading";
import { Label } from "../../components/Text";
import { useChangeCount, useChanges } from "../../state/changes";
import { useAccount } from "../../state/session";
import { isAtLeast } from "../../text/labels";
import { ApiKeys } from "./ApiKeys";
import { Functions } from "./Functions";
import { Groups } from "./Groups";
import { Members } from "./Members";
import { PolicyCard } from "./PolicyForm";
import { changes } from "../../text/en/changes";
import { readers } from "../../text/en/readers";
import { people as t } from "../../text/en/people";

export default function PeoplePage() {
  const account = useAccount();
  const { decides } = useChanges();
  const count = useChangeCount();
  const manages = isAtLeast(account.role, "admin");
  return (
    <>
      <Heading title={t("people")}>
        <p className="lead">
          {t("lead", { name: <Label text={account.company.name} /> })}
          {!manages && ` ${t("adminsChange")}`}
        </p>
      </Heading>
      {count > 0 && (
        <Note kind="info" title={changes("waitForYou", { count })}>
          <a href="#/people/changes">{changes("show")}</a>
        </Note>
      )}
      <div className="account">
        <Members manages={manages} />
        <Functions manages={manages} />
        <Groups manages={manages} />
        <ApiKeys manages={manages} />
        {manages && <PolicyCard />}
        {decides === true && (
          <section className="card" aria-label={changes("title")}>
            <h2>{changes("title")}</h2>
            <p className="gap">{changes("lead")}</p>
            <a className="button" href="#/people/changes">
              {changes("show")}
            </a>
          </section>
        )}
        <section className="card" aria-label={readers("title")}>
          <h2>{readers("title")}</h2>
          <p className="gap">{readers("lead")}</p>
          <a className="button" href="#/people/readers">
            {readers("show")}
          </a>
        </section>
        <section className="card">
          <h2>{t("autonomy")}</h2>
          <p className="gap">{t("autonomyHint")}</p>
          <a className="button" href="#/autonomy">
            {t("showAutonomy")}
          </a>
        </section>
      </div>
    </>
  );
}
