/** A deadline as a clock: what is left, by the second at its end. */

import { useEffect, useState } from "react";
import { useNow } from "../state/now";
import { formatTime } from "../text/labels";
import { dueText } from "../text/policy";

const SECOND_MS = 1_000;
const CLOSE_MS = 150_000;

/** `short` where there is little room: how long it is overdue, in place of since when. */
export function DueTime({ at, short = false }: { at: string; short?: boolean }) {
  const now = useNow();
  const isClose = Math.abs(Date.parse(at) - now) < CLOSE_MS;
  return isClose ? (
    <CloseDueTime at={at} since={now} short={short} />
  ) : (
    <DueTimeAt at={at} now={now} short={short} />
  );
}

function CloseDueTime({ at, since, short }: { at: string; since: number; short: boolean }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  return <DueTimeAt at={at} now={Math.max(now, since)} short={short} />;
}

function DueTimeAt({ at, now, short }: { at: string; now: number; short: boolean }) {
  return (
    <time
      className={Date.parse(at) <= now ? "due overdue" : "due"}
      dateTime={at}
      title={formatTime(at)}
    >
      {dueText(at, now, short)}
    </time>
  );
}
