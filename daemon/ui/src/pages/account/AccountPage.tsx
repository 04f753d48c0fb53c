/** One's own account: sessions, name, password, second factor and delegations. */

import { Heading } from "../../components/Heading";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";
import { roleLabel } from "../../text/labels";
import { Delegations } from "./Delegations";
import { NameForm } from "./NameForm";
import { PasswordForm } from "./PasswordForm";
import { SecondFactor } from "./SecondFactor";
import { Sessions } from "./Sessions";
import { account as t } from "../../text/en/account";

/** Whether the account can sign in with a password; one of a provider has none to change. */
function hasPassword(account: object): boolean {
  return (account as { has_password?: boolean | null }).has_password !== false;
}

export default function AccountPage() {
  const account = useAccount();
  return (
    <>
      <Heading title={t("account")}>
        <p className="lead">
          {t("emailRole", {
            email: <Label text={account.user.email} />,
            role: roleLabel(account.role),
            company: <Label text={account.company.name} />,
          })}
        </p>
      </Heading>
      <div className="account">
        <section className="card">
          <h2>{t("notifications")}</h2>
          <p>
            <a href="#/notifications">{t("notificationsLink")}</a>
          </p>
        </section>
        <Sessions />
        <NameForm />
        {hasPassword(account) && (
          <>
            <PasswordForm />
            <SecondFactor />
          </>
        )}
        <Delegations />
      </div>
    </>
  );
}
