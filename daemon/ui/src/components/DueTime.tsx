/** A deadline as a clock: what is left, by the second at its end. */

import { useNowNear } from "../state/now";
import { formatTime } from "../text/labels";
import { dueText } from "../text/policy";

/** `short` where there is little room: how long it is overdue, in place of since when. */
export function DueTime({ at, short = false }: { at: string; short?: boolean }) {
  const now = useNowNear(at);
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
