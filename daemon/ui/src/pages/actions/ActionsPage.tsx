/** What agents do: their calls, what stops them, and the rules that decide. */

import { DownloadButton } from "../../components/DownloadButton";
import { Heading } from "../../components/Heading";
import { useAccount } from "../../state/session";
import { isAtLeast } from "../../text/labels";
import { actions as t } from "../../text/en/actions";
import { ActionList } from "./ActionList";
import { RulesView } from "./RulesView";
import { Stops } from "./Stops";
import { useRules } from "./useRules";

export default function ActionsPage({ part }: { part: string | undefined }) {
  const { role } = useAccount();
  const rules = useRules();
  const isRules = part === "rules";
  return (
    <>
      <Heading title={isRules ? t("rules") : t("actions")}>
        {isRules ? (
          <a className="button" href="#/actions">
            {t("showActions")}
          </a>
        ) : (
          <>
            <a className="button" href="#/actions/rules">
              {t("showRules")}
            </a>
            {isAtLeast(role, "admin") && (
              <DownloadButton
                path="/audit/agents/?format=csv"
                name="agents.csv"
                text={t("downloadLog")}
              />
            )}
          </>
        )}
      </Heading>
      <Stops rules={rules} />
      {isRules ? <RulesView rules={rules} /> : <ActionList rules={rules} />}
    </>
  );
}
