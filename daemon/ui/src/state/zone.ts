/** The time zone of the company's calendar, in which the times of its clocks are shown. */

import { get } from "../api/client";
import type { Calendar } from "../api/types";
import { useAccount } from "./session";
import { useLoad } from "./useLoad";

/** Null until it is known. */
export function useCompanyZone(): string | null {
  const path = `/companies/${encodeURIComponent(useAccount().company.id)}/calendar`;
  return useLoad(path, () => get<Calendar>(path)).value?.timezone ?? null;
}
