/** The current time, updated every 30 seconds: one clock for all times that the page shows. */

import { createContext, type ReactNode, useContext, useEffect, useState } from "react";

const TICK_MS = 30_000;
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
