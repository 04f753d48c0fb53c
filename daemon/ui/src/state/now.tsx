/** The current time, updated every 30 seconds: one clock for all times that the page shows. */

import { createContext, type ReactNode, useContext, useEffect, useState } from "react";

const TICK_MS = 30_000;
const SECOND_MS = 1_000;
const CLOSE_MS = 150_000;
const Now = createContext(Date.now());

export function Clock({ children }: { children: ReactNode }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return <Now value={now}>{children}</Now>;
}

export function useNow(): number {
  return useContext(Now);
}

/** The current time, updated every second while a moment is close. */
export function useNowNear(at: string): number {
  const now = useNow();
  const close = Math.abs(Date.parse(at) - now) < CLOSE_MS;
  const [exact, setExact] = useState(now);
  useEffect(() => {
    if (!close) return undefined;
    const timer = setInterval(() => setExact(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, [close]);
  return close ? Math.max(now, exact) : now;
}
