/** Requests for templates, canvases and connectors. Templates and canvases are cached. */

import { get, getAll, toProblem } from "./client";
import type {
  Canvas,
  CompanyFunction,
  Connector,
  Judge,
  RuleOfTemplate,
  Run,
  Template,
  TemplateDetail,
} from "./types";

const cache = new Map<string, Promise<unknown>>();

function cached<T>(path: string, load: () => Promise<T>): Promise<T> {
  const found = cache.get(path) as Promise<T> | undefined;
  if (found !== undefined) return found;
  const request = load();
  cache.set(path, request);
  request.catch(() => cache.delete(path));
  return request;
}

export function clearCache(): void {
  cache.clear();
}

export function getTemplates(): Promise<Template[]> {
  return cached("templates", () => getAll<Template>("/process-templates/?limit=200", 1_000));
}

export function getTemplate(vertical: string): Promise<TemplateDetail> {
  const path = `/process-templates/${encodeURIComponent(vertical)}`;
  return cached(path, () => get<TemplateDetail>(path));
}

export function getJudges(vertical: string): Promise<Judge[]> {
  const path = `/process-templates/${encodeURIComponent(vertical)}/judges`;
  return cached(path, () => get<Judge[]>(path));
}

export function getRules(vertical: string): Promise<RuleOfTemplate[]> {
  const path = `/process-templates/${encodeURIComponent(vertical)}/rules`;
  return cached(path, () => get<RuleOfTemplate[]>(path));
}

/** The graph of a template: the current version, or the one with this digest. */
export function getCanvas(vertical: string, digest?: string): Promise<Canvas> {
  const path = `/process-templates/${encodeURIComponent(vertical)}/canvas${digest === undefined ? "" : `?digest=${encodeURIComponent(digest)}`}`;
  return cached(path, () => get<Canvas>(path));
}

/** The graph of the template version that a run uses; null if it no longer exists. */
export async function getRunCanvas(run: Run): Promise<Canvas | null> {
  try {
    const current = await getCanvas(run.vertical).catch((error: unknown) => {
      if (toProblem(error).status !== 404) throw error;
    });
    return current?.digest === run.template.digest
      ? current
      : await getCanvas(run.vertical, run.template.digest);
  } catch (error) {
    if (toProblem(error).status === 404) return null;
    throw error;
  }
}

export function getConnectors(): Promise<Connector[]> {
  return getAll<Connector>("/connectors/?limit=200", 2_000);
}

/** The functions that templates of a company name or that it has bound, by id. */
export function getFunctions(company: string): Promise<Record<string, CompanyFunction>> {
  return get<Record<string, CompanyFunction>>(`${company}/functions`);
}
