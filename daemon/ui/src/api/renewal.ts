/** Renewal of the session: the page's token is short, and another one is had for a cookie. */

import { sameCompany } from "../state/company";
import { PAGE_HEADERS } from "./early";

const TIMEOUT_MS = 30_000;
let renewing: Promise<boolean> | null = null;

/** Fetch, for the company that the page shows alone. */
export async function fetchRenewed(path: string, options: RequestInit): Promise<Response> {
  await sameCompany();
  const response = await fetchOnce(path, options);
  await sameCompany();
  return response;
}

/** Fetch; if the token has expired, renew the session and fetch once more. */
async function fetchOnce(path: string, options: RequestInit): Promise<Response> {
  const response = await fetch(path, options);
  // A refused token is told by this header; a wrong password has none.
  if (response.status !== 401 || !response.headers.has("WWW-Authenticate")) return response;
  return (await renewSession()) ? fetch(path, options) : response;
}

/** Renew the session, once for all requests that wait for it. Whether it goes on. */
function renewSession(): Promise<boolean> {
  renewing ??= renew().finally(() => {
    renewing = null;
  });
  return renewing;
}

/** Fails when the service cannot say, so that nobody is signed out by a moment of trouble. */
async function renew(): Promise<boolean> {
  const response = await fetch("/auth/refresh", {
    method: "POST",
    headers: PAGE_HEADERS,
    cache: "no-store",
    credentials: "same-origin",
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.ok) return true;
  if (response.status === 401 || response.status === 403) return false;
  throw new Error(`the session was not renewed: ${response.status}`);
}
