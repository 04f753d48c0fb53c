/** Times relative to now, with the full time as a tooltip. */

import { useNow } from "../state/now";
import { elapsedTime, formatTime, timeAgo, waitingTime } from "../text/labels";

export function TimeAgo({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={formatTime(at)}>
      {timeAgo(at, now)}
    </time>
  );
}

export function ElapsedTime({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={formatTime(at)}>
      {elapsedTime(at, now)}
    </time>
  );
}

export function WaitingTime({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={formatTime(at)}>
      {waitingTime(at, now)}
    </time>
  );
}
