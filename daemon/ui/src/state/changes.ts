/** Changes that wait for another person's approval, for those who can decide some of them. */

import { useEffect, useSyncExternalStore } from "react";
import { get, getAll, onChangeRequested, type Problem, send, toProblem } from "../api/client";
import { usePeopleChanges } from "../api/eventStream";
import { getFunctions } from "../api/resources";
import type { Account, GatedChange, Group, Policy } from "../api/types";
import { isAtLeast } from "../text/labels";
import { useAccount } from "./session";

interface Waiting {
  /** Null until they are known, and for who decides none. */
  value: GatedChange[] | null;
  problem: Problem | null;
  /** Whether the reader is one of those who decide changes; null until that is known. */
  decides: boolean | null;
}

const GROUPS_MAX = 500;
const NONE: Waiting = { value: null, problem: null, decides: null };
let waiting = NONE;
let account: Account | null = null;
let latestRequest = 0;
const watchers = new Set<() => void>();

function set(next: Waiting): void {
  waiting = next;
  for (const watcher of watchers) watcher();
}

function subscribe(changed: () => void): () => void {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

export function changesPath(company: string): string {
  return `/companies/${encodeURIComponent(company)}/changes/`;
}

export async function loadChanges(): Promise<void> {
  const own = ++latestRequest;
  if (account === null) return;
  try {
    const decides = await decidesChanges(account);
    const value = decides ? await openChanges(account.company.id) : null;
    if (own === latestRequest) set({ value, problem: null, decides });
  } catch (error) {
    if (own === latestRequest) set({ ...waiting, problem: toProblem(error) });
  }
}

/** Admins do, and those who fill the function that the company names for it. */
async function decidesChanges({ role, company, member_id }: Account): Promise<boolean> {
  if (isAtLeast(role, "admin")) return true;
  const path = `/companies/${encodeURIComponent(company.id)}`;
  const name = (await get<Policy>(`${path}/policy`)).change_gates?.function ?? null;
  const bound = name === null ? undefined : (await getFunctions(path))[name];
  if (bound === undefined || member_id === null) return false;
  if (bound.members.includes(member_id)) return true;
  if (bound.groups.length === 0) return false;
  const groups = await getAll<Group>(`${path}/groups?limit=200`, GROUPS_MAX);
  return groups.some((one) => bound.groups.includes(one.name) && one.members.includes(member_id));
}

/** The list has the newest first: behind one that has expired none is open. */
async function openChanges(company: string): Promise<GatedChange[]> {
  const found: GatedChange[] = [];
  for (let next: string | null = `${changesPath(company)}?limit=100`; next !== null;) {
    const page: { value: GatedChange[]; next: string | null } = await send("GET", next);
    found.push(...page.value.filter((one) => one.status === "open"));
    const last = page.value.at(-1);
    next = last !== undefined && Date.parse(last.expires_at) > Date.now() ? page.next : null;
  }
  return found;
}

/** Load them and keep them up to date. Used once, by the layout. */
export function useChangesUpdates(): void {
  const own = useAccount();
  const { role, company } = own;
  useEffect(() => {
    account = own;
    void loadChanges();
    return () => {
      latestRequest++;
      account = null;
      set(NONE);
    };
  }, [role, company.id]);
  usePeopleChanges(() => void loadChanges());
}

export function useChanges(): Waiting {
  return useSyncExternalStore(subscribe, () => waiting);
}

/** How many the reader may decide. */
export function useChangeCount(): number {
  return useChanges().value?.filter((one) => one.why_not === null).length ?? 0;
}

onChangeRequested(() => void loadChanges());
