/** Whether a media query holds. */

import { useSyncExternalStore } from "react";

export const NARROW = "(max-width: 46rem)";

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (changed) => {
      const list = matchMedia(query);
      list.addEventListener("change", changed);
      return () => list.removeEventListener("change", changed);
    },
    () => matchMedia(query).matches,
  );
}
