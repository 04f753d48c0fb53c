/** Asking the service: one way to send a request, and one form for what is refused. */

import { parse, stringify } from "./json";

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly body: Record<string, unknown> = {},
  ) {
    super(detail);
  }

  /** Whether nobody can know if the request was taken: it may be sent again under the same key. */
  get outcomeUnknown(): boolean {
    return this.code === "offline" || this.body["outcome"] === "unknown";
  }

  /** What was wrong with each field, by its JSON pointer. */
  get fields(): Map<string, string> {
    const errors = this.body["errors"];
    if (!Array.isArray(errors)) return new Map();
    return new Map(errors.map((one: { pointer: string; detail: string }) => [one.pointer, one.detail]));
  }
}

interface Options {
  body?: unknown;
  key?: string;
  signal?: AbortSignal;
}

export interface ApiResponse<T> {
  value: T;
  next: string | null;
  replayed: boolean;
}

const TIMEOUT_MS = 30_000;
export const PAGE_HEADERS = { "Penstock-Page": "1" };
let sessionLostListener: () => void = () => undefined;

/** The service no longer knows who we are. */
export function reportSessionLost(): void {
  sessionLostListener();
}

/** Say what is to happen then. */
export function onSessionLost(listener: () => void): void {
  sessionLostListener = listener;
}

/** A fresh key: what is sent twice under it counts once. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export async function send<T>(method: string, path: string, options: Options = {}): Promise<ApiResponse<T>> {
  const response = await request(method, path, options);
  const text = await response.text().catch(() => {
    throw offlineProblem();
  });
  const value = text === "" ? undefined : parseOrUndefined(text);
  if (!response.ok) throw problemFrom(response.status, value, path);
  if (text !== "" && value === undefined) throw new Problem(response.status, "unreadable", "The service answered something that this page cannot read.");
  return {
    value: value as T,
    next: /<([^>]+)>;\s*rel="next"/.exec(response.headers.get("Link") ?? "")?.[1] ?? null,
    replayed: response.headers.get("Idempotency-Replayed") === "true",
  };
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send<T>("GET", path, signal === undefined ? {} : { signal })).value;
}

export async function post<T>(path: string, body: unknown = {}, key?: string): Promise<T> {
  return (await send<T>("POST", path, key === undefined ? { body } : { body, key })).value;
}

/** All entries of a list over its pages, at most so many; `heard` is told of each page. */
export async function getAll<T>(path: string, most: number, heard: (found: T[]) => void = () => undefined): Promise<T[]> {
  let found: T[] = [];
  for (let next: string | null = path; next !== null && found.length < most; ) {
    const page: ApiResponse<T[]> = await send<T[]>("GET", next);
    found = [...found, ...page.value];
    heard(found);
    next = page.next;
  }
  return found;
}

async function request(method: string, path: string, options: Options): Promise<Response> {
  const headers: Record<string, string> = { ...PAGE_HEADERS };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.key !== undefined) headers["Idempotency-Key"] = options.key;
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  try {
    return await fetch(path, {
      method,
      headers,
      body: options.body === undefined ? null : stringify(options.body),
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
      signal: options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]),
    });
  } catch {
    throw offlineProblem();
  }
}

function offlineProblem(): Problem {
  return new Problem(0, "offline", "The service cannot be reached. Check your connection; this page tries again by itself.");
}

function parseOrUndefined(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function problemFrom(status: number, value: unknown, path: string): Problem {
  const body = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const code = typeof body["code"] === "string" ? body["code"] : "unknown";
  if (status === 401 && path !== "/auth/login" && path !== "/auth/register" && path !== "/auth/me") sessionLostListener();
  const detail = typeof body["detail"] === "string" ? body["detail"] : `The service answered ${status}.`;
  return new Problem(status, code, detail, body);
}

export function toProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, "unforeseen", error instanceof Error ? error.message : String(error));
}
