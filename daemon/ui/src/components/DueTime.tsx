/** A deadline as a clock: what is left, by the second at its end. */

import { useEffect, useState } from "react";
import { useNow } from "../state/useNow";
import { formatTime } from "../text/labels";
import { dueText } from "../text/policy";

const SECOND_MS = 1_000;
const CLOSE_MS = 150_000;

export function DueTime({ at }: { at: string }) {
  const coarse = useNow();
  const [fine, setFine] = useState(() => Date.now());
  const close = Date.parse(at) - coarse < CLOSE_MS && Date.parse(at) > coarse - CLOSE_MS;
  useEffect(() => {
    if (!close) return;
    const timer = setInterval(() => setFine(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, [close]);
  const now = close ? Math.max(fine, coarse) : coarse;
  const overdue = Date.parse(at) <= now;
  return (
    <time className={overdue ? "due overdue" : "due"} dateTime={at} title={formatTime(at)}>
      {dueText(at, now)}
    </time>
  );
}
