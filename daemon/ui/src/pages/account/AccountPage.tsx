/** One's own account: sessions, name, password, second factor and delegations. */

import { Heading } from "../../components/Heading";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";
import { Delegations } from "./Delegations";
import { NameForm } from "./NameForm";
import { PasswordForm } from "./PasswordForm";
import { SecondFactor } from "./SecondFactor";
import { Sessions } from "./Sessions";

export default function AccountPage() {
  const account = useAccount();
  return (
    <>
      <Heading title="Account">
        <p className="lead">
          <Label text={account.user.email} /> · {account.role} of{" "}
          <Label text={account.company.name} />
        </p>
      </Heading>
      <div className="account">
        <section className="card">
          <h2>Notifications</h2>
          <p>
            <a href="#/notifications">What you are told of by e-mail, Slack, Teams or a webhook</a>
          </p>
        </section>
        <Sessions />
        <NameForm />
        <PasswordForm />
        <SecondFactor />
        <Delegations />
      </div>
    </>
  );
}
