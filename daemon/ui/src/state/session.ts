/** The signed-in account. The token is in a cookie that scripts cannot read. */

import { useSyncExternalStore } from "react";
import { get, onSessionLost, post, Problem } from "../api/client";
import { startEventStream, stopEventStream } from "../api/eventStream";
import { clearCache } from "../api/resources";
import type { Account } from "../api/types";

export type Session =
  | { state: "unknown"; problem: Problem | null }
  | { state: "out"; ended: boolean }
  | { state: "in"; account: Account };

let session: Session = { state: "unknown", problem: null };
const watchers = new Set<() => void>();

export function useSession(): Session {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => session,
  );
}

export function useAccount(): Account {
  const found = useSession();
  if (found.state !== "in") throw new Error("nobody is signed in");
  return found.account;
}

function set(next: Session): void {
  if (next.state === "in" && session.state !== "in") startEventStream();
  if (next.state !== "in" && session.state === "in") {
    stopEventStream();
    clearCache();
  }
  session = next;
  for (const watcher of watchers) watcher();
}

/** Load the account of the current session, if there is one. */
export async function loadSession(): Promise<void> {
  try {
    set({ state: "in", account: await get<Account>("/auth/me") });
  } catch (error) {
    if (error instanceof Problem && error.status === 401) set({ state: "out", ended: false });
    else set({ state: "unknown", problem: error as Problem });
  }
}

export async function signIn(email: string, password: string): Promise<void> {
  set({ state: "in", account: await post<Account>("/auth/login", { email, password }) });
}

export async function register(
  email: string,
  password: string,
  company: string,
  name: string,
): Promise<void> {
  const body = { email, password, company_name: company, ...(name.trim() === "" ? {} : { name }) };
  set({ state: "in", account: await post<Account>("/auth/register", body) });
}

/** Change the password. All other sessions end. */
export async function changePassword(current: string, password: string): Promise<void> {
  await post("/auth/password", { current, new: password });
}

/** Sign out. Fails if the service does not confirm it, because the token would stay valid. */
export async function signOut(): Promise<void> {
  try {
    await post("/auth/logout");
  } catch (error) {
    if (!(error instanceof Problem && error.status === 401)) throw error;
  }
  set({ state: "out", ended: false });
}

onSessionLost(() => {
  if (session.state === "in") set({ state: "out", ended: true });
});
