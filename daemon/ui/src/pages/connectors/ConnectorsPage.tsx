/** The list of tools: those of templates, and those with a connector. */

import { useState } from "react";
import { getCanvas, getConnectors, getTemplates } from "../../api/resources";
import type { Connector } from "../../api/types";
import { ModeBadge } from "../../components/Badges";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { SearchField, ShownCount } from "../../components/Filter";
import { Heading } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { linkTo } from "../../state/router";
import { useLoad } from "../../state/useLoad";

interface Tool {
  id: string;
  connector: Connector | null;
  used: string[];
}

async function loadTools(): Promise<Tool[]> {
  const [bound, known] = await Promise.all([getConnectors(), getTemplates()]);
  const graphs = await Promise.all(known.map((template) => getCanvas(template.vertical)));
  const found = new Map<string, Tool>(
    bound.map((connector) => [
      connector.tool_id,
      { id: connector.tool_id, connector: connector, used: [] },
    ]),
  );
  for (const graph of graphs) {
    for (const node of graph.nodes) {
      if (node.tool === null) continue;
      const tool = found.get(node.tool) ?? { id: node.tool, connector: null, used: [] };
      if (!tool.used.includes(graph.title)) tool.used.push(graph.title);
      found.set(node.tool, tool);
    }
  }
  return [...found.values()].sort(
    (a, b) =>
      Number(b.connector !== null) - Number(a.connector !== null) || a.id.localeCompare(b.id),
  );
}

export default function ConnectorsPage() {
  const { value, problem, reload } = useLoad("tools", loadTools);
  const [text, setText] = useState("");
  const shown = (value ?? []).filter((tool) =>
    `${tool.id} ${tool.used.join(" ")} ${tool.connector?.base_url ?? ""}`
      .toLowerCase()
      .includes(text.trim().toLowerCase()),
  );
  const live = (value ?? []).filter((tool) => tool.connector?.reversible).length;
  return (
    <>
      <Heading title="Connectors">
        <p className="lead">
          A connector defines the endpoint of a tool.{" "}
          {value !== null &&
            (live === 0
              ? "Every tool is shadowed: no call is sent."
              : `${live} ${live === 1 ? "tool is" : "tools are"} live; the others are shadowed.`)}
        </p>
      </Heading>
      {value === null ? (
        problem === null ? (
          <Loading rows={6} what="Loading the connectors" />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : value.length === 0 ? (
        <EmptyState icon="connectors" title="No template names a tool" />
      ) : (
        <>
          <div className="filters">
            <SearchField value={text} onChange={setText} />
            <ShownCount shown={shown.length} all={value.length} />
          </div>
          {shown.length === 0 && <EmptyState icon="search" title="No matching tool" />}
          <ul className="rows" aria-label="Tools">
            {shown.map((tool) => (
              <li key={tool.id} className="row">
                <a className="row-main" href={linkTo("connectors", tool.id)}>
                  <Label text={tool.id} />
                </a>
                <p className="row-sub">
                  {tool.connector !== null ? (
                    <>
                      {tool.connector.method}{" "}
                      <Label text={tool.connector.base_url + tool.connector.path} maxLength={120} />
                    </>
                  ) : (
                    <>
                      Not connected
                      {tool.used.length > 0 && (
                        <>
                          {" "}
                          · used by <Label text={tool.used.join(", ")} maxLength={90} />
                        </>
                      )}
                    </>
                  )}
                </p>
                <p className="row-badges">
                  <ModeBadge mode={tool.connector?.reversible ? "live" : "shadow"} />
                </p>
                <p className="row-when">
                  {tool.connector !== null && <TimeAgo at={tool.connector.updated_at} />}
                </p>
                <Icon name="forward" />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
