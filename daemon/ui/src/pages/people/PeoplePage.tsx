/** The people of the company: members, invitations, groups and API keys. */

import { Heading } from "../../components/Heading";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";
import { isAtLeast } from "../../text/labels";
import { ApiKeys } from "./ApiKeys";
import { Groups } from "./Groups";
import { Members } from "./Members";
import { PolicyCard } from "./PolicyForm";

export default function PeoplePage() {
  const account = useAccount();
  const manages = isAtLeast(account.role, "admin");
  return (
    <>
      <Heading title="People">
        <p className="lead">
          Members, groups and API keys of <Label text={account.company.name} />.
          {!manages && " Admins and the owner change them."}
        </p>
      </Heading>
      <div className="account">
        <Members manages={manages} />
        <Groups manages={manages} />
        <ApiKeys manages={manages} />
        {manages && <PolicyCard />}
      </div>
    </>
  );
}
