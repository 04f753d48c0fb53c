/** The audit page: history of the company, checkpoints and export. */

import { useCallback, useEffect, useMemo, useState } from "react";
import { type Problem, toProblem } from "../../api/client";
import { useEvents } from "../../api/eventStream";
import { DownloadButton } from "../../components/DownloadButton";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { Filter, SearchField } from "../../components/Filter";
import { Heading } from "../../components/Heading";
import { useMembers, useNames } from "../../state/members";
import { Evidence } from "./Checkpoints";
import { loadEarlierLog, loadLaterLog } from "./companyLog";
import {
  coverageText,
  FILTERS,
  type LoadedHistory,
  matchesFilter,
  mergeEntries,
  mergeEvents,
  oldestLoaded,
  searchText,
} from "./entries";
import { latestPosition, loadEarlierEvents } from "./eventHistory";
import type { Names } from "./logSentences";
import { LogEntryItem, RunEventItem } from "./HistoryItems";

export function AuditPage() {
  return (
    <>
      <Heading title="Audit">
        <p className="lead">
          Who did what, and when. Any later change of this history can be detected.
        </p>
      </Heading>
      <div className="run-columns">
        <History />
        <section className="run-steps" aria-label="Evidence">
          <Evidence />
          <section className="card">
            <h2>Public keys</h2>
            <p>
              They verify the export and the audit evidence of a run:{" "}
              <code>penstock verify FILE --key audit.pub</code>.
            </p>
            <DownloadButton path="/audit/keys" name="audit.pub" text="Public keys" />
          </section>
        </section>
      </div>
    </>
  );
}

/** What the log calls people; a member who left is known by the id alone. */
function useLogNames(): Names {
  const { value: members } = useMembers();
  const byEmail = useNames();
  const emails = useMemo(
    () => new Map((members ?? []).map((member) => [member.id, member.email])),
    [members],
  );
  const byId = (id: string) => {
    const email = emails.get(id);
    return email === undefined ? null : byEmail(email);
  };
  return { byEmail, byId };
}

const POLL_MS = 15_000;

function History() {
  const names = useLogNames();
  const [loaded, setLoaded] = useState<LoadedHistory | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [kind, setKind] = useState("people");
  const [text, setText] = useState("");
  const load = useCallback(async (before: LoadedHistory | null) => {
    setBusy(true);
    try {
      const { runs, log } = before ?? { runs: null, log: null };
      const reached = before === null ? null : oldestLoaded(before);
      const moreRuns =
        runs === null || (runs.from !== null && reached !== null && reached.runs >= reached.log);
      const moreLog =
        log === null || (log.next !== null && reached !== null && reached.log >= reached.runs);
      const next = {
        runs: moreRuns
          ? await loadEarlierEvents(runs ?? { events: [], from: await latestPosition() })
          : runs,
        log: moreLog ? await loadEarlierLog(log) : log,
      };
      setLoaded((now) => ({ runs: mergeEvents(next.runs, now?.runs), log: next.log }));
      setProblem(null);
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
  }, []);
  useEffect(() => void load(null), [load]);
  useEvents((events) =>
    setLoaded(
      (before) => before && { ...before, runs: mergeEvents(before.runs, { events, from: null }) },
    ),
  );
  const log = loaded?.log;
  useEffect(() => {
    if (log === undefined) return;
    const timer = setTimeout(() => {
      loadLaterLog(log).then(
        (found) =>
          setLoaded(
            (before) => before && (before.log === log ? { ...before, log: found } : before),
          ),
        () => setLoaded((before) => before && { ...before, log: { ...before.log } }),
      );
    }, POLL_MS);
    return () => clearTimeout(timer);
  }, [log]);
  if (loaded === null)
    return problem === null ? (
      <Loading rows={6} what="Loading the history" />
    ) : (
      <LoadError problem={problem} retry={() => void load(null)} />
    );
  const known = mergeEntries(loaded);
  const wanted = text.trim().toLowerCase();
  const shown = known.filter(
    (entry) =>
      matchesFilter(entry, kind) &&
      (wanted === "" || searchText(entry, names).toLowerCase().includes(wanted)),
  );
  const whole = loaded.runs.from === null && loaded.log.next === null;
  return (
    <section aria-label="History">
      <div className="filters" role="group" aria-label="Filters">
        <Filter
          label="Show"
          value={kind}
          onChange={setKind}
          options={Object.entries(FILTERS).map(([id, filter]): [string, string] => [
            id,
            filter.name,
          ])}
        />
        <SearchField label="Person, step, tool or run" value={text} onChange={setText} />
      </div>
      <p className="muted small" role="status">
        {coverageText(shown.length, known, whole)}
      </p>
      {shown.length === 0 ? (
        <EmptyState
          icon="audit"
          title={whole ? "No matching entries" : "No matching entries among those loaded"}
        />
      ) : (
        <ol className="history card">
          {shown.map((entry) =>
            entry.run === null ? (
              <LogEntryItem key={entry.id} event={entry.log.event} names={names} />
            ) : (
              <RunEventItem key={entry.id} item={entry.run} />
            ),
          )}
        </ol>
      )}
      {problem !== null && <LoadError problem={problem} />}
      {!whole && (
        <button
          type="button"
          className="button more"
          disabled={busy}
          onClick={() => void load(loaded)}
        >
          {busy ? "Loading…" : "Show earlier"}
        </button>
      )}
    </section>
  );
}
