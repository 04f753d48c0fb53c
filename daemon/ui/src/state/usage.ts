/** Which processes the company uses, and which of their tools are connected. */

import { get, send } from "../api/client";
import { getConnectors, getTemplate, getTemplates } from "../api/resources";
import type { Connector, Policy, ReportConnector, RunRow, Template, Values } from "../api/types";

const RUNS_LOOKED_AT = 200;

export interface Usage {
  templates: Template[];
  /** The verticals that the company has chosen. */
  chosen: string[];
  /** Those, the company's own, and those with recent runs. */
  used: ReadonlySet<string>;
}

export interface Tool {
  id: string;
  connector: Connector | null;
  /** The last result that is known. */
  result: ReportConnector | null;
  /** The titles of the processes in use that call it, and of all others. */
  needed: string[];
  others: string[];
}

function policyPath(company: string): string {
  return `/companies/${encodeURIComponent(company)}/policy`;
}

export async function getUsage(company: string): Promise<Usage> {
  const [templates, policy, runs] = await Promise.all([
    getTemplates(),
    get<Policy>(policyPath(company)),
    get<RunRow[]>(`/process-runs/?view=row&limit=${RUNS_LOOKED_AT}`),
  ]);
  const own = templates.filter((one) => one.own).map((one) => one.vertical);
  const used = new Set([...policy.templates, ...own, ...runs.map((run) => run.vertical)]);
  return { templates, chosen: policy.templates, used };
}

/** Take a template for the company, or leave it; every company can start it all the same. */
export async function chooseTemplate(
  company: string,
  vertical: string,
  use: boolean,
): Promise<void> {
  const path = policyPath(company);
  const others = (await get<Policy>(path)).templates.filter((one) => one !== vertical);
  await send("PUT", path, { body: { templates: use ? [...others, vertical] : others } });
}

/** The tools of a template's steps and judges, each with whether it has a connector. */
export async function getToolsOf(vertical: string): Promise<{ id: string; connected: boolean }[]> {
  const [template, connectors] = await Promise.all([getTemplate(vertical), getConnectors()]);
  const connected = new Set(connectors.map((one) => one.tool_id));
  return template.calls.map((id) => ({ id, connected: connected.has(id) }));
}

export async function getTools(company: string): Promise<Tool[]> {
  const [connectors, usage, results] = await Promise.all([
    getConnectors(),
    getUsage(company),
    get<ReportConnector[]>(`/reports/connectors/?limit=200`),
  ]);
  const found = new Map<string, Tool>();
  const at = (id: string): Tool => {
    const known = found.get(id);
    if (known !== undefined) return known;
    const made: Tool = { id, connector: null, result: null, needed: [], others: [] };
    found.set(id, made);
    return made;
  };
  for (const connector of connectors) at(connector.tool_id).connector = connector;
  for (const one of usage.templates)
    for (const id of one.calls)
      at(id)[usage.used.has(one.vertical) ? "needed" : "others"].push(one.title);
  for (const result of results) {
    const tool = found.get(result.tool_id);
    if (tool !== undefined) tool.result = result;
  }
  return [...found.values()].sort((a, b) => a.id.localeCompare(b.id));
}

/** The example inputs of a process that calls a tool, one in use before all others. */
export async function getExampleFor(tool: string, company: string): Promise<Values | null> {
  const usage = await getUsage(company);
  const calling = usage.templates.filter((one) => one.calls.includes(tool));
  const found = calling.find((one) => usage.used.has(one.vertical)) ?? calling[0];
  return found === undefined ? null : (await getTemplate(found.vertical)).inputs;
}
