/** The signed-in account. The token is in a cookie that scripts cannot read. */

import { useSyncExternalStore } from "react";
import { get, onRightsChanged, onSessionLost, post, Problem, send } from "../api/client";
import { startEventStream, stopEventStream } from "../api/eventStream";
import { clearCache } from "../api/resources";
import type { Account } from "../api/types";
import { changeCompany, changeSession, hideCompany, showCompany, startOver } from "./company";
import { common as t } from "../text/en/common";

export type Session =
  | { state: "unknown"; problem: Problem | null }
  /** `ended` says why the session is over, if it was not the person who ended it. */
  | { state: "out"; ended: string }
  /** `held` while the company asks for a second factor that the person has not. */
  | { state: "in"; account: Account; held: boolean };

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
  if (next.state === "in") showCompany(next.account.user.id, next.account.company.id);
  else hideCompany();
  session = next;
  for (const watcher of watchers) watcher();
}

/** Load the account of the current session, if there is one. */
export async function loadSession(): Promise<void> {
  try {
    enter(await get<Account>("/auth/me"));
  } catch (error) {
    if (error instanceof Problem && error.status === 401) set({ state: "out", ended: "" });
    else set({ state: "unknown", problem: error as Problem });
  }
}

/** Look again at the account and its role. Without an answer the page keeps what it shows. */
export async function refreshAccount(): Promise<void> {
  try {
    const account = await get<Account>("/auth/me");
    if (session.state !== "in") return;
    const { company, user } = session.account;
    if (account.company.id === company.id && account.user.id === user.id) enter(account);
    else startOver();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) lose(error.reason);
  }
}

function enter(account: Account): void {
  const held = session.state === "in" && session.held && !account.second_factor;
  set({ state: "in", account, held });
}

/** The session is over without the person's doing. */
function lose(reason: string): void {
  if (session.state !== "in") return;
  const { company } = session.account;
  const removed = reason === "membership_ended";
  set({
    state: "out",
    ended: removed ? t("noLongerMember", { name: company.name }) : t("sessionEnded"),
  });
}

export async function signIn(email: string, password: string, code: string): Promise<void> {
  await changeSession(() =>
    post("/auth/login", { email, password, ...(code === "" ? {} : { code }) }),
  );
  await loadSession();
}

/** Join the company of an invitation, with a new account or one that is proven. */
export async function joinWith(
  invitation: string,
  email: string,
  given: { password: string; name: string; code: string },
): Promise<void> {
  const { password, name, code } = given;
  const more = { ...(name.trim() === "" ? {} : { name }), ...(code === "" ? {} : { code }) };
  await changeSession(() => post("/auth/register", { email, password, invitation, ...more }));
  await loadSession();
}

/** Accept an invitation with the account that is signed in. */
export async function acceptInvitation(token: string): Promise<void> {
  await changeCompany(() => post("/invitations/accept", { token }));
}

/** Go to another company. Everything is loaded anew. */
export async function switchCompany(id: string): Promise<void> {
  await changeCompany(() => post("/auth/switch", { company_id: id }));
}

export async function changeName(name: string): Promise<void> {
  const body = { name: name.trim() === "" ? null : name };
  enter((await send<Account>("PATCH", "/auth/me", { body })).value);
}

export async function register(
  email: string,
  password: string,
  company: string,
  name: string,
): Promise<void> {
  const body = { email, password, company_name: company, ...(name.trim() === "" ? {} : { name }) };
  await changeSession(() => post("/auth/register", body));
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
  set({ state: "out", ended: "" });
}

// A right that is refused may have been taken away: the page shows what is left.
onRightsChanged((reason) => {
  if (session.state !== "in") return;
  if (reason === "role") void refreshAccount();
  else if (reason === "second_factor") set({ ...session, held: true });
  else if (reason === "single_sign_on") lose(reason);
});

onSessionLost(lose);
