/** The account's sessions: where it is signed in, and how to end that. */

import { useState } from "react";
import { getAll, type Problem, send, toProblem } from "../../api/client";
import type { ActiveSession } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Label, plainText } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useLoad } from "../../state/useLoad";
import { formatTime } from "../../text/labels";
import { account as t } from "../../text/en/account";

const SESSIONS_MAX = 1_000;

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
      <h2>{t("sessions")}</h2>
      <p className="muted">{t("sessionsHint")}</p>
      {failed !== null && (
        <Note kind="bad" title={t("nothingEnded", { message: failed.message })} />
      )}
      {value === null ? (
        problem === null ? (
          <Loading rows={2} what={t("loadingSessions")} />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : (
        <>
          <ul className="sessions" aria-label={t("sessions")}>
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
              {t("endOthers")}
            </button>
          )}
        </>
      )}
      {asking && (
        <Dialog
          title={t("endOthersAsk")}
          yes={t("endOthers")}
          danger
          onYes={() => end("/auth/sessions")}
          onNo={() => setAsking(false)}
        >
          <p>{t("endOthersHint")}</p>
        </Dialog>
      )}
    </section>
  );
}

function SessionItem({ session, end }: { session: ActiveSession; end: () => void }) {
  const name = clientName(session.user_agent) ?? t("unknownClient");
  return (
    <li>
      <div>
        <p>
          <strong>{t(session.current ? "thisSession" : `client.${session.kind}`)}</strong> ·{" "}
          {t("lastUsed", { when: <TimeAgo at={session.last_used_at} /> })}
        </p>
        <p className="muted small">
          <span title={plainText(session.user_agent, 300)}>
            <Label text={name} maxLength={120} />
          </span>
        </p>
        <p className="muted small">
          {t("sessionFrom", {
            address: <Label text={session.address} maxLength={60} />,
            since: formatTime(session.created_at),
            until: formatTime(session.expires_at),
          })}
        </p>
      </div>
      {!session.current && (
        <button
          type="button"
          className="button"
          aria-label={t("endSession", {
            client: name.slice(0, 60),
            since: formatTime(session.created_at),
          })}
          onClick={end}
        >
          {t("end")}
        </button>
      )}
    </li>
  );
}

const BROWSERS: [string, RegExp][] = [
  ["Edge", /Edg(e|A|iOS)?\//],
  ["Opera", /OPR\//],
  ["Firefox", /(Firefox|FxiOS)\//],
  ["Chrome", /(HeadlessChrome|Chrome|CriOS|Chromium)\//],
  ["Safari", /Version\/.* Safari\//],
];
const SYSTEMS: [string, RegExp][] = [
  ["iPhone", /iPhone/],
  ["iPad", /iPad/],
  ["Android", /Android/],
  ["Windows", /Windows/],
  ["macOS", /Mac OS X|Macintosh/],
  ["ChromeOS", /CrOS/],
  ["Linux", /Linux|X11/],
];

/** “Chrome on Linux”; what is no browser of these stays as it says; null for none. */
function clientName(agent: string): string | null {
  const named = (known: [string, RegExp][]) => known.find(([, says]) => says.test(agent))?.[0];
  const [browser, system] = [named(BROWSERS), named(SYSTEMS)];
  if (agent === "") return null;
  return browser === undefined || system === undefined
    ? agent
    : t("browserOn", { browser, system });
}
