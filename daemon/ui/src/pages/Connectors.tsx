/** What each tool is bound to: the tools that templates name, and those that have a connector besides. */

import { useState } from "react";
import { canvas, connectors, templates, useLoad } from "../hooks";
import { Empty, Heading, Loading, ModeBadge, Trouble, When } from "../parts/Bits";
import { Search, Shown } from "../parts/Filter";
import { Icon } from "../parts/Icon";
import { Label } from "../parts/Text";
import { to } from "../router";
import type { Connector } from "../types";

interface Tool {
  id: string;
  connector: Connector | null;
  used: string[];
}

async function tools(): Promise<Tool[]> {
  const [bound, known] = await Promise.all([connectors(), templates()]);
  const graphs = await Promise.all(known.map((one) => canvas(one.vertical)));
  const found = new Map<string, Tool>(bound.map((one) => [one.tool_id, { id: one.tool_id, connector: one, used: [] }]));
  for (const graph of graphs) {
    for (const node of graph.nodes) {
      if (node.tool === null) continue;
      const tool = found.get(node.tool) ?? { id: node.tool, connector: null, used: [] };
      if (!tool.used.includes(graph.title)) tool.used.push(graph.title);
      found.set(node.tool, tool);
    }
  }
  return [...found.values()].sort((one, other) => Number(other.connector !== null) - Number(one.connector !== null) || one.id.localeCompare(other.id));
}

export function ConnectorsPage() {
  const { value, problem, reload } = useLoad("tools", tools);
  const [text, setText] = useState("");
  const shown = (value ?? []).filter((one) => `${one.id} ${one.used.join(" ")} ${one.connector?.base_url ?? ""}`.toLowerCase().includes(text.trim().toLowerCase()));
  const live = (value ?? []).filter((one) => one.connector?.reversible).length;
  return (
    <>
      <Heading title="Connectors">
        <p className="lead">
          A connector says where a tool's calls go. {value !== null && (live === 0 ? "At the moment nothing is sent anywhere: every tool is shadowed." : `${live} ${live === 1 ? "tool is" : "tools are"} live; the others are shadowed.`)}
        </p>
      </Heading>
      {value === null ? (
        problem === null ? (
          <Loading rows={6} what="Loading the connectors" />
        ) : (
          <Trouble problem={problem} retry={reload} />
        )
      ) : value.length === 0 ? (
        <Empty icon="connectors" title="No template names a tool" />
      ) : (
        <>
          <div className="filters">
            <Search value={text} onChange={setText} />
            <Shown shown={shown.length} all={value.length} />
          </div>
          {shown.length === 0 && <Empty icon="search" title="No tool fits" />}
          <ul className="rows" aria-label="Tools">
          {shown.map((one) => (
            <li key={one.id} className="row">
              <a className="row-main" href={to("connectors", one.id)}>
                <Label text={one.id} />
              </a>
              <p className="row-sub">
                {one.connector !== null ? (
                  <>
                    {one.connector.method} <Label text={one.connector.base_url + one.connector.path} most={120} />
                  </>
                ) : (
                  <>Not connected{one.used.length > 0 && <> · used by <Label text={one.used.join(", ")} most={90} /></>}</>
                )}
              </p>
              <p className="row-badges">
                <ModeBadge mode={one.connector?.reversible ? "live" : "shadow"} />
              </p>
              <p className="row-when">{one.connector !== null && <When at={one.connector.updated_at} />}</p>
              <Icon name="forward" />
            </li>
          ))}
          </ul>
        </>
      )}
    </>
  );
}
