/** The members of the company, and their names. */

import { useMemo } from "react";
import { getAll } from "../api/client";
import type { Member } from "../api/types";
import { useAccount } from "./session";
import { useLoad } from "./useLoad";

const MEMBERS_MAX = 10_000;

export function useMembers() {
  const company = useAccount().company.id;
  return useLoad(`members ${company}`, () =>
    getAll<Member>(`/companies/${encodeURIComponent(company)}/members?limit=200`, MEMBERS_MAX),
  );
}

/** What to call the person with an e-mail address. */
export function useNames(): (email: string) => string {
  const { value } = useMembers();
  const names = useMemo(
    () => new Map((value ?? []).map((member) => [member.email, member.name ?? member.email])),
    [value],
  );
  return (email) => names.get(email) ?? email;
}
