/** The tools: those that the processes in use need, those with a connector, and all others. */

import { type ReactNode, useState } from "react";
import { ModeBadge } from "../../components/Badges";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { SearchField, ShownCount } from "../../components/Filter";
import { Heading } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { linkTo } from "../../state/router";
import { useAccount } from "../../state/session";
import { getTools, type Tool } from "../../state/usage";
import { useLoad } from "../../state/useLoad";
import { isAtLeast } from "../../text/labels";
import { connectors as t } from "../../text/en/connectors";

export default function ConnectorsPage() {
  const { company } = useAccount();
  const { value, problem, reload } = useLoad(`tools ${company.id}`, () => getTools(company.id));
  const live = (value ?? []).filter((tool) => tool.connector?.reversible).length;
  return (
    <>
      <Heading title={t("connectors")}>
        <p className="lead">
          {t("lead")}{" "}
          {value !== null && (live === 0 ? t("allShadowed") : t("someLive", { count: live }))}
        </p>
      </Heading>
      {value === null ? (
        problem === null ? (
          <Loading rows={6} what={t("loading")} />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : value.length === 0 ? (
        <EmptyState icon="connectors" title={t("noTools")} />
      ) : (
        <Tools tools={value} />
      )}
    </>
  );
}

function Tools({ tools }: { tools: Tool[] }) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const shown = tools.filter((tool) =>
    `${tool.id} ${tool.needed.join(" ")} ${tool.others.join(" ")} ${tool.connector?.base_url ?? ""}`
      .toLowerCase()
      .includes(wanted),
  );
  const needed = shown.filter((tool) => tool.connector === null && tool.needed.length > 0);
  const connected = shown.filter((tool) => tool.connector !== null);
  const others = shown.filter((tool) => tool.connector === null && tool.needed.length === 0);
  const alone = needed.length + connected.length === 0 || wanted !== "";
  return (
    <>
      <div className="filters">
        <SearchField value={text} onChange={setText} />
        <ShownCount shown={shown.length} all={tools.length} />
      </div>
      {shown.length === 0 && <EmptyState icon="search" title={t("noMatch")} />}
      <Part name={t("needed")} about={t("neededHint")} tools={needed} />
      <Part name={t("connected")} tools={connected} />
      {others.length > 0 && (
        // A search opens it again where the reader has closed it.
        <details key={wanted === "" ? "all" : "found"} className="tools-part" open={alone}>
          <summary>
            <h2>{t("otherTools")}</h2>{" "}
            <span className="muted small">{t("tools", { count: others.length })}</span>
          </summary>
          <Rows name={t("otherTools")} tools={others} />
        </details>
      )}
    </>
  );
}

function Part({ name, about, tools }: { name: string; about?: string; tools: Tool[] }) {
  if (tools.length === 0) return null;
  return (
    <section className="tools-part">
      <h2>{name}</h2>
      {about !== undefined && <p className="muted small">{about}</p>}
      <Rows name={name} tools={tools} />
    </section>
  );
}

function Rows({ name, tools }: { name: string; tools: Tool[] }) {
  return (
    <ul className="rows" aria-label={name}>
      {tools.map((tool) => (
        <ToolRow key={tool.id} tool={tool} />
      ))}
    </ul>
  );
}

function ToolRow({ tool }: { tool: Tool }) {
  const { role } = useAccount();
  const { connector } = tool;
  const connects = connector === null && isAtLeast(role, "member");
  return (
    <li className="row">
      <a className="row-main" href={linkTo("connectors", tool.id)}>
        <Label text={tool.id} />
      </a>
      <p className="row-sub">
        {connector === null ? (
          <UsedBy tool={tool} />
        ) : (
          <>
            {connector.method} <Label text={connector.base_url + connector.path} maxLength={120} />
            <LastResult tool={tool} />
          </>
        )}
      </p>
      <p className="row-badges">
        <ModeBadge mode={connector?.reversible ? "live" : "shadow"} />
      </p>
      <p className="row-when">
        {connector !== null && <TimeAgo at={connector.updated_at} />}
        {connects && <span className="row-act">{t("connect")}</span>}
      </p>
      <Icon name="forward" />
    </li>
  );
}

function UsedBy({ tool }: { tool: Tool }): ReactNode {
  const names = tool.needed.length > 0 ? tool.needed : tool.others;
  return (
    <>
      {t("notConnected")}
      {names.length > 0 && (
        <> · {t("usedBy", { names: <Label text={names.join(", ")} maxLength={90} /> })}</>
      )}
    </>
  );
}

/** How the last call of a tool ended, where one was sent. */
function LastResult({ tool: { result } }: { tool: Tool }): ReactNode {
  if (result === null) return null;
  return (
    <span className={result.failing ? "failing" : ""}>
      {" "}
      ·{" "}
      {t(result.failing ? "lastFailed" : "lastSucceeded", {
        when: <TimeAgo at={result.last_at} />,
      })}
    </span>
  );
}
