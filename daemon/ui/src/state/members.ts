/** The members of the company and their names, loaded once for all who show them. */

import { useEffect, useSyncExternalStore } from "react";
import { getAll, type Problem, toProblem } from "../api/client";
import { usePeopleChanges } from "../api/eventStream";
import type { Member } from "../api/types";
import { memberNames } from "../text/people";
import { useAccount } from "./session";

interface Members {
  value: Member[] | null;
  problem: Problem | null;
  names: Map<string, string>;
}

const MEMBERS_MAX = 10_000;
const NONE: Members = { value: null, problem: null, names: new Map() };
let members = NONE;
let company = "";
let latestRequest = 0;
const watchers = new Set<() => void>();

function set(next: Members): void {
  members = next;
  for (const watcher of watchers) watcher();
}

function subscribe(changed: () => void): () => void {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

export async function loadMembers(): Promise<void> {
  const own = ++latestRequest;
  const path = `/companies/${encodeURIComponent(company)}/members?limit=200`;
  try {
    const value = await getAll<Member>(path, MEMBERS_MAX);
    if (own === latestRequest) set({ value, problem: null, names: memberNames(value) });
  } catch (error) {
    if (own === latestRequest) set({ ...members, problem: toProblem(error) });
  }
}

/** Load the members and keep them up to date. Used once, by the layout. */
export function useMembersUpdates(): void {
  const id = useAccount().company.id;
  useEffect(() => {
    company = id;
    void loadMembers();
    return () => {
      latestRequest++;
      set(NONE);
    };
  }, [id]);
  usePeopleChanges(() => void loadMembers());
}

export function useMembers() {
  const { value, problem } = useSyncExternalStore(subscribe, () => members);
  return { value, problem, reload: () => void loadMembers() };
}

/** What to call the person with an e-mail address; people who left keep the address. */
export function useNames(): (email: string) => string {
  const { names } = useSyncExternalStore(subscribe, () => members);
  return (email) => names.get(email.toLowerCase()) ?? email;
}
