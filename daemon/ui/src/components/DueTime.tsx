/** A deadline as a clock: what is left, by the second at its end. */

import { useEffect, useState } from "react";
import { useNow } from "../state/now";
import { formatTime } from "../text/labels";
import { dueText } from "../text/policy";

const SECOND_MS = 1_000;
const CLOSE_MS = 150_000;

export function DueTime({ at }: { at: string }) {
  const now = useNow();
  const isClose = Math.abs(Date.parse(at) - now) < CLOSE_MS;
  return isClose ? <CloseDueTime at={at} since={now} /> : <DueTimeAt at={at} now={now} />;
}

function CloseDueTime({ at, since }: { at: string; since: number }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  return <DueTimeAt at={at} now={Math.max(now, since)} />;
}

function DueTimeAt({ at, now }: { at: string; now: number }) {
  return (
    <time
      className={Date.parse(at) <= now ? "due overdue" : "due"}
      dateTime={at}
      title={formatTime(at)}
    >
      {dueText(at, now)}
    </time>
  );
}
