/** The search and filters of a list, in the page's address. */

import { useCallback } from "react";
import { replaceQuery, useRoute } from "./router";

export interface Query {
  get: (name: string) => string;
  set: (name: string, value: string) => void;
  clear: () => void;
  /** As the address has it; empty without a filter. */
  text: string;
}

export function useQuery(): Query {
  const { query } = useRoute();
  const set = useCallback(
    (name: string, value: string) => {
      const next = new URLSearchParams(query);
      if (value === "") next.delete(name);
      else next.set(name, value);
      replaceQuery(next);
    },
    [query],
  );
  const clear = useCallback(() => replaceQuery(new URLSearchParams()), []);
  return { get: (name) => query.get(name) ?? "", set, clear, text: query.toString() };
}
