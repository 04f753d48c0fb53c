/** One event of a history. */

import type { RunEvent } from "../../api/types";
import { formatTime } from "../../text/labels";
import { describeEvent } from "../../text/sentences";
import { Icon } from "../Icon";
import { PersonName } from "./PersonName";
import { Label, Text } from "../Text";

const PERSON_EVENTS = new Set([
  "run_started",
  "verdict_given",
  "verdict_withdrawn",
  "gate_escalated",
  "gate_expired",
  "gate_blocked",
  "message_received",
  "compensation_began",
  "proposal_made",
  "run_ended",
  "run_migrated",
  "run_promoted",
  "gate_opened",
  "clock_extended",
  "clock_breached",
  "glass_broken",
  "glass_mended",
]);

/** Events with the reason that somebody gave. */
const REASONED = new Set(["run_ended", "glass_broken"]);

export function isPersonEvent(event: RunEvent): boolean {
  return (
    PERSON_EVENTS.has(event.type) ||
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
              <PersonName by={by} kind={event.by_kind} giver={event.on_behalf_of} />
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
      {REASONED.has(event.type) && event.reason && (
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
