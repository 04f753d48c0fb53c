/** The history of a run, newest first: people's actions, or all events. */

import { useState } from "react";
import type { RunEvent } from "../../api/types";
import { EventEntry, isPersonEvent } from "../../components/record/EventEntry";
import { repeatsVerdict } from "../../text/sentences";
import { runs as t } from "../../text/en/runs";

const EVENTS_SHOWN = 200;

export function History({ events, label }: { events: RunEvent[]; label: (id: string) => string }) {
  const [everything, setEverything] = useState(false);
  const found = (
    everything
      ? events
      : events.filter(
          (event, index) => isPersonEvent(event) && !repeatsVerdict(event, events[index - 1]),
        )
  ).toReversed();
  return (
    <>
      <ol className="history">
        {found.slice(0, EVENTS_SHOWN).map((event) => (
          <li key={event.seq}>
            <EventEntry event={event} label={label} />
          </li>
        ))}
      </ol>
      {found.length > EVENTS_SHOWN && (
        <p className="muted">{t("earlier", { count: found.length - EVENTS_SHOWN })}</p>
      )}
      <button type="button" className="link" onClick={() => setEverything(!everything)}>
        {everything ? t("onlyPeople") : t("showEvents", { count: events.length })}
      </button>
    </>
  );
}
