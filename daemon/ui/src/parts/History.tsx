/** What happened in a run, who decided what and why: newest first; people's doings alone, or everything. */

import { useState } from "react";
import type { RunEvent } from "../types";
import { counted, echoes, told } from "../sentences";
import { moment } from "../words";
import { Icon } from "./Icon";
import { Label, Text } from "./Text";

const MANY = 200;

export function byPeople(event: RunEvent): boolean {
  return ["run_started", "verdict_given", "run_ended", "gate_opened"].includes(event.type) || (event.type === "step_entered" && Boolean(event.by));
}

export function History({ events, label }: { events: RunEvent[]; label: (id: string) => string }) {
  const [everything, setEverything] = useState(false);
  const found = (everything ? events : events.filter((event, index) => byPeople(event) && !echoes(event, events[index - 1]))).toReversed();
  return (
    <>
      <ol className="history">
        {found.slice(0, MANY).map((event) => (
          <li key={event.seq}>
            <Entry event={event} label={label} />
          </li>
        ))}
      </ol>
      {found.length > MANY && <p className="muted">and {found.length - MANY} earlier</p>}
      <button type="button" className="link" onClick={() => setEverything(!everything)}>
        {everything ? "Show only what people did" : `Show ${counted(events.length, "event")}`}
      </button>
    </>
  );
}

export function Entry({ event, label }: { event: RunEvent; label: (id: string) => string }) {
  const { by, text } = told(event, (id) => label(id).slice(0, 160));
  return (
    <>
      <p>
        {by !== null && (
          <>
            <Icon name="gate" size={14} />{" "}
            <strong>
              <Label text={by} most={60} />
            </strong>{" "}
          </>
        )}
        <Label text={text} most={400} />
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
        <time dateTime={event.at}>{moment(event.at)}</time>
      </p>
    </>
  );
}
