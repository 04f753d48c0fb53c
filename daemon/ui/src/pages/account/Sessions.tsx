/** The account's sessions: where it is signed in, and how to end that. */

import { useState } from "react";
import { getAll, type Problem, send, toProblem } from "../../api/client";
import type { ActiveSession } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useLoad } from "../../state/useLoad";
import { formatTime } from "../../text/labels";

const SESSIONS_MAX = 1_000;
const KINDS = { page: "Page", api: "API client" };

export function Sessions() {
  const { value, problem, reload } = useLoad("sessions", () =>
    getAll<ActiveSession>("/auth/sessions?limit=200", SESSIONS_MAX),
  );
  const [failed, setFailed] = useState<Problem | null>(null);
  const [asking, setAsking] = useState(false);
  const end = (path: string) => {
    setFailed(null);
    setAsking(false);
    send("DELETE", path)
      .catch((error: unknown) => {
        const found = toProblem(error);
        if (found.status !== 404) setFailed(found); // it has ended already
      })
      .finally(reload);
  };
  return (
    <section className="card">
      <h2>Sessions</h2>
      <p className="muted">Where this account is signed in. End what you do not recognize.</p>
      {failed !== null && <Note kind="bad" title={`Nothing was ended. ${failed.message}`} />}
      {value === null ? (
        problem === null ? (
          <Loading rows={2} what="Loading the sessions" />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : (
        <>
          <ul className="sessions" aria-label="Sessions">
            {value.map((session) => (
              <SessionItem
                key={session.id}
                session={session}
                end={() => end(`/auth/sessions/${encodeURIComponent(session.id)}`)}
              />
            ))}
          </ul>
          {value.some((session) => !session.current) && (
            <button type="button" className="button" onClick={() => setAsking(true)}>
              End all others
            </button>
          )}
        </>
      )}
      {asking && (
        <Dialog
          title="End all other sessions?"
          yes="End all others"
          danger
          onYes={() => end("/auth/sessions")}
          onNo={() => setAsking(false)}
        >
          <p>Other browsers and API clients are signed out at once. This page stays signed in.</p>
        </Dialog>
      )}
    </section>
  );
}

function SessionItem({ session, end }: { session: ActiveSession; end: () => void }) {
  const name = session.user_agent === "" ? "Unknown client" : session.user_agent;
  return (
    <li>
      <div>
        <p>
          <strong>{session.current ? "This session" : KINDS[session.kind]}</strong> · last used{" "}
          <TimeAgo at={session.last_used_at} />
        </p>
        <p className="muted small">
          <Label text={name} maxLength={120} />
        </p>
        <p className="muted small">
          From <Label text={session.address} maxLength={60} />, signed in{" "}
          {formatTime(session.created_at)}, until {formatTime(session.expires_at)} at the latest
        </p>
      </div>
      {!session.current && (
        <button
          type="button"
          className="button"
          aria-label={`End the session of ${name.slice(0, 60)}, signed in ${formatTime(session.created_at)}`}
          onClick={end}
        >
          End
        </button>
      )}
    </li>
  );
}
