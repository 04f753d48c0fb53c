/** The draft of a connector: form texts, converted from and to the contract. */

import { numberJson, numberText } from "../../text/formats";
import { parse, parseNumber, stringify } from "../../api/json";
import type { Connector } from "../../api/types";

export interface ConnectorDraft {
  base_url: string;
  method: string;
  path: string;
  auth_type: string;
  auth_token: string;
  auth_header: string;
  query: string;
  body: string;
  signal_rule: string;
  reversible: boolean;
  idempotent: boolean;
  timeout: string;
  retries: string;
  headers: string;
  response: string;
  token_url: string;
  client_id: string;
  scope: string;
  audience: string;
  callback: boolean;
  callback_timeout: string;
}

export function emptyDraft(): ConnectorDraft {
  return {
    base_url: "",
    method: "POST",
    path: "",
    auth_type: "none",
    auth_token: "",
    auth_header: "",
    query: "",
    body: "",
    signal_rule: "",
    reversible: false,
    idempotent: false,
    timeout: "10",
    retries: "3",
    headers: "",
    response: "",
    token_url: "",
    client_id: "",
    scope: "",
    audience: "",
    callback: false,
    callback_timeout: "86400",
  };
}

export function draftFrom(connector: Connector): ConnectorDraft {
  return {
    base_url: connector.base_url,
    method: connector.method,
    path: connector.path,
    auth_type: connector.auth_type,
    auth_token: "",
    auth_header: connector.auth_header ?? "",
    query: mapToLines(connector.query_map),
    body: mapToLines(connector.body_map),
    signal_rule: connector.signal_rule ?? "",
    reversible: connector.reversible,
    idempotent: connector.idempotent,
    timeout: numberText(String(connector.timeout_s)),
    retries: String(connector.retries),
    headers: mapToLines(connector.headers),
    response: mapToLines(connector.response_map),
    token_url: connector.token_url ?? "",
    client_id: connector.client_id ?? "",
    scope: connector.scope ?? "",
    audience: connector.audience ?? "",
    callback: connector.callback,
    callback_timeout: String(connector.callback_timeout_s),
  };
}

export function requestBody(draft: ConnectorDraft): Record<string, unknown> {
  return {
    base_url: draft.base_url.trim(),
    method: draft.method,
    path: draft.path.trim(),
    auth_type: draft.auth_type,
    auth_token:
      draft.auth_type === "none" || draft.auth_token === "" ? undefined : draft.auth_token,
    auth_header:
      draft.auth_type === "header" && draft.auth_header !== "" ? draft.auth_header : undefined,
    query_map: linesToSources(draft.query),
    body_map: linesToSources(draft.body),
    signal_rule: draft.signal_rule.trim() === "" ? undefined : draft.signal_rule,
    reversible: draft.reversible,
    idempotent: draft.idempotent,
    timeout_s: parseNumber(numberJson(draft.timeout)) ?? draft.timeout,
    retries: parseNumber(numberJson(draft.retries)) ?? draft.retries,
    headers: linesToMap(draft.headers),
    response_map: linesToMap(draft.response),
    ...(draft.auth_type === "oauth2" ? clientMembers(draft) : {}),
    callback: draft.callback,
    callback_timeout_s: parseNumber(numberJson(draft.callback_timeout)) ?? draft.callback_timeout,
  };
}

/** The client of OAuth 2; what is empty is left out. */
function clientMembers(draft: ConnectorDraft): Record<string, string | undefined> {
  const { token_url, client_id, scope, audience } = draft;
  const given = Object.entries({ token_url, client_id, scope, audience });
  return Object.fromEntries(given.map(([name, text]) => [name, text.trim() || undefined]));
}

function mapToLines(map: Record<string, unknown> | null): string {
  return Object.entries(map ?? {})
    .map(([name, key]) => `${name} = ${typeof key === "string" ? key : stringify(key)}`)
    .join("\n");
}

/** Names with keys of the run, or with constants as `{"value": …}`. */
function linesToSources(text: string): Record<string, unknown> | undefined {
  const found = Object.entries(linesToMap(text) ?? {});
  if (found.length === 0) return undefined;
  return Object.fromEntries(found.map(([name, key]) => [name, constantOf(key) ?? key]));
}

/** The constant that a line has in place of a key; null for a key. */
export function constantOf(key: string): object | null {
  if (!key.startsWith("{")) return null;
  try {
    const found: unknown = parse(key);
    return typeof found === "object" ? found : null;
  } catch {
    return null;
  }
}

function linesToMap(text: string): Record<string, string> | undefined {
  const found = text.split("\n").filter((line) => line.trim() !== "");
  if (found.length === 0) return undefined;
  return Object.fromEntries(
    found.map((line) => {
      const [name = "", ...rest] = line.split("=");
      return [name.trim(), rest.join("=").trim()];
    }),
  );
}
