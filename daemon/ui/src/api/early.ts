/** The first list of a page, asked for while its scripts still start and the session is looked up. */

import { PAGE_HEADERS } from "./renewal";

const COUNTS_MS = 5_000;
const responses = new Map<string, Promise<Response | null>>();

export function fetchEarly(path: string): void {
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
