/** The current time, updated every 30 seconds. */

import { useSyncExternalStore } from "react";

const TICK_MS = 30_000;

let now = Date.now();

const tickers = new Set<() => void>();
setInterval(() => {
  now = Date.now();
  for (const tick of tickers) tick();
}, TICK_MS);

export function useNow(): number {
  return useSyncExternalStore(
    (changed) => {
      tickers.add(changed);
      return () => tickers.delete(changed);
    },
    () => now,
  );
}
