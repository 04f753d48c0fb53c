/** One event of a history. */

import type { RunEvent } from "../api/types";
import { formatTime } from "../text/labels";
import { describeEvent } from "../text/sentences";
import { Icon } from "./Icon";
import { Label, Text } from "./Text";

export function isPersonEvent(event: RunEvent): boolean {
  return (
    ["run_started", "verdict_given", "run_ended", "gate_opened"].includes(event.type) ||
    (event.type === "step_entered" && Boolean(event.by) && event.by !== "autopilot")
  );
}

export function EventEntry({ event, label }: { event: RunEvent; label: (id: string) => string }) {
  const { by, text } = describeEvent(event, (id) => label(id).slice(0, 160));
  return (
    <>
      <p>
        {by !== null && (
          <>
            <Icon name="gate" size={14} />{" "}
            <strong>
              <Label text={by} maxLength={60} />
            </strong>{" "}
          </>
        )}
        <Label text={text} maxLength={400} />
      </p>
      {event.comment && (
        <blockquote>
          <Text text={event.comment} />
        </blockquote>
      )}
      {event.type === "run_ended" && event.reason && (
        <blockquote>
          <Text text={event.reason} />
        </blockquote>
      )}
      <p className="muted small">
        <time dateTime={event.at}>{formatTime(event.at)}</time>
      </p>
    </>
  );
}
