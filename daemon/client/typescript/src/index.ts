/**
 * A typed client of the service: openapi-fetch over the types of its contract, with a key for each
 * request that changes something, and repeats under that key.
 */

import createClient, { type Client } from "openapi-fetch";
import type { paths } from "./contract.js";

export type * from "./contract.js";

export type Penstock = Client<paths>;

/** How often and how long a request is repeated on a lost connection, 429 and 503. */
export interface Patience {
  triesMax: number;
  totalMs: number;
  firstMs: number;
  longestMs: number;
}

export interface Options {
  /** The address of the service, such as `http://127.0.0.1:8080`. */
  baseUrl: string;
  /** The token or API key of each request, or what gives it: it may change with a log-in. */
  token?: string | (() => string | undefined);
  patience?: Partial<Patience>;
  /** The time of one attempt. */
  timeoutMs?: number;
  fetch?: (request: Request) => Promise<Response>;
}

const PATIENCE: Patience = { triesMax: 8, totalMs: 30_000, firstMs: 200, longestMs: 10_000 };
const TIMEOUT_MS = 75_000;
const KEY = "Idempotency-Key";
/** Log-ins have no key, and a test of a connector or a webhook is never repeated. */
const WITHOUT_KEY = /^\/auth\/|\/test$/;

/** A client of the service at an address. Redirects are not followed. */
export function createPenstock(options: Options): Penstock {
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const patience = { ...PATIENCE, ...options.patience };
  const client = createClient<paths>({
    baseUrl: options.baseUrl,
    redirect: "error",
    fetch: (request) => repeated(send, request, patience, options.timeoutMs ?? TIMEOUT_MS),
  });
  client.use({
    onRequest({ request, schemaPath }) {
      const token = typeof options.token === "function" ? options.token() : options.token;
      if (token) request.headers.set("Authorization", `Bearer ${token}`);
      const keyed = request.method !== "POST" || WITHOUT_KEY.test(schemaPath);
      if (!keyed && !request.headers.has(KEY)) request.headers.set(KEY, crypto.randomUUID());
    },
  });
  return client;
}

/** A refusal (RFC 9457); `body` has the members beyond the common ones, too. */
export class Problem extends Error {
  override readonly name = "Problem";

  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly body: Readonly<Record<string, unknown>>,
  ) {
    super(detail);
  }
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** What a request was answered with; a refusal is thrown as a Problem. */
export async function value<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (response.ok) return data as T;
  const body = (typeof error === "object" && error !== null ? error : {}) as Record<
    string,
    unknown
  >;
  const detail = body["detail"] ?? `The answer has status ${response.status}.`;
  throw new Problem(response.status, String(body["code"] ?? "unknown"), String(detail), body);
}

/** All items of a list, page after page: `page` asks for the one at a cursor, as JSON. */
export async function* items<T>(
  page: (query: { cursor?: string }) => Promise<Answer<T[] | string>>,
): AsyncGenerator<T, void, undefined> {
  let cursor: string | null | undefined;
  do {
    const call = page(typeof cursor === "string" ? { cursor } : {});
    const found = await value(call);
    if (typeof found === "string")
      throw new TypeError("A list as CSV has no items to iterate over");
    yield* found;
    const next = /<([^<>]*)>\s*;[^,<]*\brel="?next"?/.exec(
      (await call).response.headers.get("Link") ?? "",
    );
    cursor = next?.[1] && new URL(next[1], "http://service").searchParams.get("cursor");
  } while (cursor);
}

/** The response to a request that is sent again where that is safe. */
async function repeated(
  send: (request: Request) => Promise<Response>,
  request: Request,
  patience: Patience,
  timeoutMs: number,
): Promise<Response> {
  const until = Date.now() + patience.totalMs;
  const repeatable = request.method !== "POST" || request.headers.has(KEY);
  for (let tried = 1; ; tried++) {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);
    let response: Response | undefined;
    let failure: unknown;
    try {
      response = await send(new Request(request.clone(), { signal }));
    } catch (error) {
      failure = error;
    }
    const final = response !== undefined && response.status !== 429 && response.status !== 503;
    const waitMs = pauseMs(patience, tried, response);
    if (final || !repeatable || tried >= patience.triesMax || Date.now() + waitMs > until) {
      if (response === undefined) throw failure;
      return response;
    }
    request.signal.throwIfAborted();
    await response?.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

/** The pause after so many attempts: as the service asks, or growing; with jitter. */
function pauseMs(patience: Patience, tried: number, response: Response | undefined): number {
  const asked = response?.headers.get("Retry-After") ?? "";
  const growing = Math.min(patience.longestMs, patience.firstMs * 2 ** (tried - 1));
  return (/^\d+$/.test(asked) ? Number(asked) * 1000 : growing) * (1 + Math.random() / 4);
}
