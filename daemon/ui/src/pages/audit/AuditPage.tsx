/** The audit page: history of the company, checkpoints and export. */

import { useCallback, useEffect, useState } from "react";
import { type Problem, toProblem } from "../../api/client";
import { useEvents } from "../../api/eventStream";
import { DownloadButton } from "../../components/DownloadButton";
import { EmptyState, LoadError, Loading, Note } from "../../components/Feedback";
import { Filter, SearchField } from "../../components/Filter";
import { Heading } from "../../components/Heading";
import { useAccount } from "../../state/session";
import { mayDecide } from "../../text/labels";
import { Evidence } from "./Checkpoints";
import { type CompanyLog, loadEarlierLog, loadLaterLog } from "./companyLog";
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
import { LogEntryItem, RunEventItem } from "./HistoryItems";

export function AuditPage() {
  const { role } = useAccount();
  const auditor = mayDecide(role, "manager");
  return (
    <>
      <Heading title="Audit">
        <p className="lead">
          Who did what, and when. Any later change of this history can be detected.
        </p>
      </Heading>
      <div className="run-columns">
        <History logged={auditor} />
        <section className="run-steps" aria-label="Evidence">
          {auditor ? (
            <Evidence />
          ) : (
            <Note kind="info" title="Managers and owners can see the checkpoints and the export." />
          )}
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

const POLL_MS = 15_000;
const EMPTY_LOG: CompanyLog = { entries: [], next: null };

function History({ logged }: { logged: boolean }) {
  const [loaded, setLoaded] = useState<LoadedHistory | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [kind, setKind] = useState("people");
  const [text, setText] = useState("");
  const load = useCallback(
    async (before: LoadedHistory | null) => {
      setBusy(true);
      try {
        const { runs, log } = before ?? { runs: null, log: null };
        const reached = before === null ? null : oldestLoaded(before);
        const moreRuns =
          runs === null || (runs.from !== null && reached !== null && reached.runs >= reached.log);
        const moreLog =
          logged &&
          (log === null || (log.next !== null && reached !== null && reached.log >= reached.runs));
        const next = {
          runs: moreRuns
            ? await loadEarlierEvents(runs ?? { events: [], from: await latestPosition() })
            : runs,
          log: moreLog ? await loadEarlierLog(log) : (log ?? EMPTY_LOG),
        };
        setLoaded((now) => ({ runs: mergeEvents(next.runs, now?.runs), log: next.log }));
        setProblem(null);
      } catch (error) {
        setProblem(toProblem(error));
      }
      setBusy(false);
    },
    [logged],
  );
  useEffect(() => void load(null), [load]);
  useEvents((events) =>
    setLoaded(
      (before) => before && { ...before, runs: mergeEvents(before.runs, { events, from: null }) },
    ),
  );
  const log = loaded?.log;
  useEffect(() => {
    if (!logged || log === undefined) return;
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
  }, [logged, log]);
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
      (wanted === "" || searchText(entry).toLowerCase().includes(wanted)),
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
        {!logged && " Managers and owners also see sign-ins and connector changes."}
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
              <LogEntryItem key={entry.id} event={entry.log.event} />
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
