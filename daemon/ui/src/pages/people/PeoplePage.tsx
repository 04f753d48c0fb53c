/** The people of the company: members, invitations, groups and API keys. */

import { Heading } from "../../components/Heading";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";
import { isAtLeast } from "../../text/labels";
import { ApiKeys } from "./ApiKeys";
import { Functions } from "./Functions";
import { Groups } from "./Groups";
import { Members } from "./Members";
import { PolicyCard } from "./PolicyForm";
import { people as t } from "../../text/en/people";

export default function PeoplePage() {
  const account = useAccount();
  const manages = isAtLeast(account.role, "admin");
  return (
    <>
      <Heading title={t("people")}>
        <p className="lead">
          {t("lead", { name: <Label text={account.company.name} /> })}
          {!manages && ` ${t("adminsChange")}`}
        </p>
      </Heading>
      <div className="account">
        <Members manages={manages} />
        <Functions manages={manages} />
        <Groups manages={manages} />
        <ApiKeys manages={manages} />
        {manages && <PolicyCard />}
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
