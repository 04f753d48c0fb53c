/**
 * What the page shows first, asked for while the rest of its scripts still loads.
 *
 * It is a script of its own, which imports nothing, so that it is there and runs before the others.
 */

export const PAGE_HEADERS = { "Penstock-Page": "1" };
export const FIRST_INBOX = "/gates/?view=row&order=risk&mine=true&limit=50";
export const FIRST_RUNS = "/process-runs/?view=row&limit=50";

export interface WholeResponse {
  response: Response;
  text: string;
}

const LISTS: Record<string, string> = { "": FIRST_INBOX, "#/": FIRST_INBOX, "#/runs": FIRST_RUNS };
const COUNTS_MS = 5_000;
const requests = new Map<string, Promise<WholeResponse | null>>();
const responses = new Map<string, WholeResponse>();

const list = LISTS[location.hash];
if (list !== undefined) fetchEarly(list);
fetchEarly("/auth/me");
// The first number format of a page loads the browser's tables, which takes as long as a request.
new Intl.NumberFormat().format(0);

function fetchEarly(path: string): void {
  requests.set(
    path,
    respond(path).catch(() => null),
  );
}

async function respond(path: string): Promise<WholeResponse | null> {
  const response = await fetch(path, {
    headers: PAGE_HEADERS,
    cache: "no-store",
    credentials: "same-origin",
    redirect: "error",
  });
  if (!response.ok) return null;
  const found = { response, text: await response.text() };
  if (requests.has(path)) responses.set(path, found);
  return found;
}

/** Resolves when all early responses are there. */
export async function earlyResponses(): Promise<void> {
  await Promise.allSettled(requests.values());
}

/** The early response, if it is there already. */
export function peekEarly(path: string): WholeResponse | null {
  return performance.now() < COUNTS_MS ? (responses.get(path) ?? null) : null;
}

/** The early response, once; null for whoever has to ask. */
export async function takeEarly(path: string): Promise<WholeResponse | null> {
  const found = requests.get(path);
  requests.delete(path);
  responses.delete(path);
  return found !== undefined && performance.now() < COUNTS_MS ? found : null;
}
