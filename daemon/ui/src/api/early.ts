/**
 * What the page shows first, asked for while the rest of its scripts still loads.
 *
 * It is a script of its own, which imports nothing, so that it is there and runs before the others.
 */

export const PAGE_HEADERS = { "Penstock-Page": "1" };
export const FIRST_INBOX = "/gates/?view=row&order=risk&mine=true&limit=50";
export const FIRST_RUNS = "/process-runs/?view=row&limit=50";

const LISTS: Record<string, string> = { "": FIRST_INBOX, "#/": FIRST_INBOX, "#/runs": FIRST_RUNS };
const COUNTS_MS = 5_000;
const responses = new Map<string, Promise<Response | null>>();

const list = LISTS[location.hash];
if (list !== undefined) fetchEarly(list);
fetchEarly("/auth/me");

function fetchEarly(path: string): void {
  const request = fetch(path, {
    headers: PAGE_HEADERS,
    cache: "no-store",
    credentials: "same-origin",
    redirect: "error",
  });
  responses.set(
    path,
    request.then(
      (response) => (response.ok ? response : null),
      () => null,
    ),
  );
}

/** The response that came early, once; null for whoever has to ask. */
export async function takeEarly(path: string): Promise<Response | null> {
  const found = responses.get(path);
  if (found === undefined) return null;
  responses.delete(path);
  return performance.now() < COUNTS_MS ? found : null;
}
