/** The signed-in account. The token is in a cookie that scripts cannot read. */

import { useSyncExternalStore } from "react";
import { get, onRightsChanged, onSessionLost, post, Problem, send } from "../api/client";
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

export async function signIn(email: string, password: string, code: string): Promise<void> {
  await post("/auth/login", { email, password, ...(code === "" ? {} : { code }) });
  await loadSession();
}

/** Join the company of an invitation, with a new account or one that the password proves. */
export async function joinWith(
  invitation: string,
  email: string,
  password: string,
  name: string,
): Promise<void> {
  const named = name.trim() === "" ? {} : { name };
  await post("/auth/register", { email, password, invitation, ...named });
  await loadSession();
}

/** Accept an invitation with the account that is signed in. */
export async function acceptInvitation(token: string): Promise<void> {
  await post("/invitations/accept", { token });
  location.assign("#/");
  location.reload();
}

/** Go to another company. Everything is loaded anew. */
export async function switchCompany(id: string): Promise<void> {
  await post("/auth/switch", { company_id: id });
  location.assign("#/");
  location.reload();
}

export async function changeName(name: string): Promise<void> {
  const body = { name: name.trim() === "" ? null : name };
  set({ state: "in", account: (await send<Account>("PATCH", "/auth/me", { body })).value });
}

export async function register(
  email: string,
  password: string,
  company: string,
  name: string,
): Promise<void> {
  const body = { email, password, company_name: company, ...(name.trim() === "" ? {} : { name }) };
  await post("/auth/register", body);
  await loadSession();
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

// A right that is refused may have been taken away: the page shows what is left.
onRightsChanged(() => {
  if (session.state === "in") void loadSession();
});

onSessionLost(() => {
  if (session.state === "in") set({ state: "out", ended: true });
});
