/** Takes a template for the company, and says which of its tools are not connected yet. */

import { useState } from "react";
import { toProblem } from "../../api/client";
import { Dialog } from "../../components/Dialog";
import { Loading, Note } from "../../components/Feedback";
import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { linkTo } from "../../state/router";
import { useAccount } from "../../state/session";
import { chooseTemplate, getToolsOf } from "../../state/usage";
import { useLoad } from "../../state/useLoad";
import { isAtLeast } from "../../text/labels";
import { common } from "../../text/en/common";
import { templates as t } from "../../text/en/templates";

interface Props {
  vertical: string;
  title: string;
  chosen: boolean;
  onChanged: () => void;
}

/** Offered to those who may change what the company uses. */
export function UseTemplate({ vertical, title, chosen, onChanged }: Props) {
  const { company, role } = useAccount();
  const [taken, setTaken] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState("");
  if (!isAtLeast(role, "admin")) return null;
  const change = (use: boolean) => {
    setBusy(true);
    chooseTemplate(company.id, vertical, use)
      .then(
        () => {
          setFailed("");
          setTaken(use);
          if (!use) onChanged();
        },
        (error: unknown) => setFailed(toProblem(error).message),
      )
      .finally(() => setBusy(false));
  };
  return (
    <>
      <button
        type="button"
        className="button"
        disabled={busy}
        aria-label={chosen ? t("stopUsingOf", { title }) : t("useOf", { title })}
        onClick={() => change(!chosen)}
      >
        {chosen ? t("stopUsing") : t("use")}
      </button>
      {failed !== "" && <Note kind="bad" title={failed} />}
      {taken && (
        <Dialog
          title={t("isInUse", { title })}
          yes={common("close")}
          no={null}
          onYes={() => {
            setTaken(false);
            onChanged();
          }}
          onNo={() => {
            setTaken(false);
            onChanged();
          }}
        >
          <p>{t("standsFirst")}</p>
          <ToolsNeeded vertical={vertical} />
        </Dialog>
      )}
    </>
  );
}

/** The tools of a template without a connector. */
export function ToolsNeeded({ vertical }: { vertical: string }) {
  const { role } = useAccount();
  const { value } = useLoad(`tools of ${vertical}`, () => getToolsOf(vertical));
  if (value === null) return <Loading rows={1} what={t("loadingTools")} />;
  const needed = value.filter((tool) => !tool.connected);
  if (needed.length === 0)
    return <p className="muted">{value.length === 0 ? t("noTool") : t("allConnected")}</p>;
  return (
    <>
      <p>{t("notConnected", { count: needed.length })}</p>
      <ul className="needed">
        {needed.map((tool) => (
          <li key={tool.id}>
            <Icon name="connectors" size={16} />
            <Label text={tool.id} />
            {isAtLeast(role, "member") && (
              <a href={linkTo("connectors", tool.id)} aria-label={t("connectOf", { id: tool.id })}>
                {t("connect")}
              </a>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
