/** HTTP client. Every failure is a Problem (RFC 9457). */

import { PAGE_HEADERS, peekEarly, takeEarly, type WholeResponse } from "./early";
import { parse, stringify } from "./json";
import { fetchRenewed } from "./renewal";
import { common as t } from "../text/en/common";
import { problems } from "../text/en/problems";
import { currentLanguage } from "../text/locale";

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly body: Record<string, unknown> = {},
  ) {
    super(detail);
  }

  /** Whether it is unknown if the request took effect. It may be sent again with the same key. */
  get outcomeUnknown(): boolean {
    return this.code === "offline" || this.body["outcome"] === "unknown";
  }

  get reason(): string {
    const reason = this.body["reason"];
    return typeof reason === "string" ? reason : "";
  }

  /** Validation errors by JSON pointer. */
  get fields(): Map<string, string> {
    const errors = this.body["errors"];
    if (!Array.isArray(errors)) return new Map();
    return new Map(
      errors.map((error: { pointer: string; detail: string }) => [error.pointer, error.detail]),
    );
  }
}

interface Options {
  body?: unknown;
  key?: string;
  /** The entity tag of what was seen: nothing else is replaced. */
  seen?: string;
  /** The entity tag of what is known already; * where nothing is to be replaced. */
  known?: string;
  /** Whether the request outlives the page. */
  keepalive?: boolean;
  signal?: AbortSignal;
}

export interface ApiResponse<T> {
  value: T;
  next: string | null;
  etag: string | null;
  replayed: boolean;
}

const TIMEOUT_MS = 30_000;
/** The codes whose detail has more than the code. */
const SAYS_MORE = new Set([
  "conflict",
  "decision_not_allowed",
  "forbidden",
  "last_owner",
  "not_migratable",
  "not_promotable",
  "not_redactable",
  "provider_unavailable",
  "quota_exceeded",
  "too_large",
]);
/** Why a request was refused, as the service says it; empty where it says nothing. */
type Reason = string;
let sessionLostListener: (reason: Reason) => void = () => undefined;

/** Report that the session is no longer valid. */
export async function reportSessionLost(response: Response): Promise<void> {
  const body = parseOrUndefined(await response.text().catch(() => ""));
  sessionLostListener(problemFrom(response.status, body, "/auth/me").reason);
}

export function onSessionLost(listener: (reason: Reason) => void): void {
  sessionLostListener = listener;
}

let rightsChangedListener: (reason: Reason) => void = () => undefined;

export function onRightsChanged(listener: (reason: Reason) => void): void {
  rightsChangedListener = listener;
}

let changeRequestedListener: () => void = () => undefined;

/** Report that a change was asked for, which waits for another person. */
export function onChangeRequested(listener: () => void): void {
  changeRequestedListener = listener;
}

export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export async function send<T>(
  method: string,
  path: string,
  options: Options = {},
): Promise<ApiResponse<T>> {
  const { response, text } =
    (method === "GET" ? await takeEarly(path) : null) ?? (await request(method, path, options));
  const value = text === "" ? undefined : parseOrUndefined(text);
  if (!response.ok) throw problemFrom(response.status, value, path);
  if (text !== "" && value === undefined)
    throw new Problem(response.status, "unreadable", t("unreadable"));
  if (response.status === ACCEPTED && isGatedChange(value)) {
    changeRequestedListener();
    throw new Problem(response.status, AWAITS_APPROVAL, t("awaitsApproval"));
  }
  return apiResponse(response, value as T);
}

const ACCEPTED = 202;
/** The code of what is no failure, and has changed nothing yet. */
export const AWAITS_APPROVAL = "awaits_approval";

/** Whether an answer is a change that waits for another person, and is not done yet. */
function isGatedChange(value: unknown): boolean {
  return typeof value === "object" && value !== null && "act" in value && "expires_at" in value;
}

/** What a GET would be answered, where the response has come early. */
export function peek<T>(path: string): ApiResponse<T> | null {
  const early = peekEarly(path);
  const value = early === null ? undefined : parseOrUndefined(early.text);
  return early === null || value === undefined ? null : apiResponse(early.response, value as T);
}

function apiResponse<T>(response: Response, value: T): ApiResponse<T> {
  return {
    value,
    next: /<([^>]+)>;\s*rel="next"/.exec(response.headers.get("Link") ?? "")?.[1] ?? null,
    etag: response.headers.get("ETag"),
    replayed: response.headers.get("Idempotency-Replayed") === "true",
  };
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send<T>("GET", path, signal === undefined ? {} : { signal })).value;
}

export async function post<T>(path: string, body: unknown = {}, key?: string): Promise<T> {
  return (await send<T>("POST", path, key === undefined ? { body } : { body, key })).value;
}

/** Delete what is listed; what somebody else has deleted meanwhile is gone all the same. */
export async function remove(path: string): Promise<void> {
  try {
    await send("DELETE", path);
  } catch (error) {
    if (toProblem(error).status !== 404) throw error;
  }
}

/** Get all pages of a list, up to a limit; `heard` receives what is loaded after each page. */
export async function getAll<T>(
  path: string,
  most: number,
  heard: (found: T[]) => void = () => undefined,
): Promise<T[]> {
  let found: T[] = [];
  for (let next: string | null = path; next !== null && found.length < most;) {
    const page: ApiResponse<T[]> = await send<T[]>("GET", next);
    found = [...found, ...page.value];
    heard(found);
    next = page.next;
  }
  return found;
}

async function request(method: string, path: string, options: Options): Promise<WholeResponse> {
  const headers: Record<string, string> = { ...PAGE_HEADERS };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.key !== undefined) headers["Idempotency-Key"] = options.key;
  if (options.seen !== undefined) headers["If-Match"] = options.seen;
  if (options.known !== undefined) headers["If-None-Match"] = options.known;
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetchRenewed(path, {
      method,
      headers,
      body: options.body === undefined ? null : stringify(options.body),
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
      keepalive: options.keepalive ?? false,
      signal: options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]),
    });
    return { response, text: await response.text() };
  } catch {
    throw offlineProblem();
  }
}

function offlineProblem(): Problem {
  return new Problem(0, "offline", t("offline"));
}

function parseOrUndefined(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function problemFrom(status: number, value: unknown, path: string): Problem {
  const body = (typeof value === "object" && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  const code = typeof body["code"] === "string" ? body["code"] : "unknown";
  const detail =
    typeof body["detail"] === "string" ? body["detail"] : t("respondedStatus", { status });
  const problem = new Problem(status, code, inReadersWords(code, detail), body);
  if (code === "not_authenticated" && path !== "/auth/me") sessionLostListener(problem.reason);
  if (code === "forbidden") rightsChangedListener(problem.reason);
  return problem;
}

/** The service speaks English; in another language its own words stand behind, where they say more. */
function inReadersWords(code: string, detail: string): string {
  if (currentLanguage() === "en") return detail;
  const said = problems.code("code", code, detail);
  return SAYS_MORE.has(code) ? `${said} (${detail})` : said;
}

export function toProblem(error: unknown): Problem {
  return error instanceof Problem
    ? error
    : new Problem(0, "unforeseen", error instanceof Error ? error.message : String(error));
}
