/** The audit page: history of the company, checkpoints and export. */

import { useCallback, useEffect, useState } from "react";
import { get, type Problem, toProblem } from "../../api/client";
import { useEvents } from "../../api/eventStream";
import { getCanvas } from "../../api/resources";
import type { Checkpoint, CompanyEvent, Run, RunEvent } from "../../api/types";
import { DownloadButton } from "../../components/DownloadButton";
import { EventEntry, isPersonEvent } from "../../components/EventEntry";
import { EmptyState, LoadError, Loading, Note } from "../../components/Feedback";
import { Filter, SearchField } from "../../components/Filter";
import { Heading } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { linkTo } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { formatTime, mayDecide } from "../../text/labels";
import { type CompanyLog, describeChanges, describeLogEvent, loadEarlierLog, loadLaterLog, type LogEntry, type LogEvent } from "./companyLog";
import { latestPosition, loadEarlierEvents, type LoadedEvents } from "./eventHistory";

export function AuditPage() {
  const { role } = useAccount();
  const auditor = mayDecide(role, "manager");
  return (
    <>
      <Heading title="Audit">
        <p className="lead">Who did what, and when. Any later change of this history can be detected.</p>
      </Heading>
      <div className="run-columns">
        <History logged={auditor} />
        <section className="run-steps" aria-label="Evidence">
          {auditor ? <Evidence /> : <Note kind="info" title="Managers and owners can see the checkpoints and the export." />}
          <section className="card">
            <h2>Public keys</h2>
            <p>
              They verify the export and the audit evidence of a run: <code>penstock verify FILE --key audit.pub</code>.
            </p>
            <DownloadButton path="/audit/keys" name="audit.pub" text="Public keys" />
          </section>
        </section>
      </div>
    </>
  );
}

function Evidence() {
  const { value, problem, reload } = useLoad("checkpoint", () => get<Checkpoint[]>("/audit/checkpoints?limit=1"));
  const last = value?.[0];
  return (
    <>
      <section className="card">
        <h2>Last checkpoint</h2>
        {value === null ? (
          problem === null ? <Loading rows={2} /> : <LoadError problem={problem} retry={reload} />
        ) : last === undefined ? (
          <p className="muted">There is no checkpoint yet. The first follows within a minute of the first change.</p>
        ) : (
          <dl className="facts">
            <div>
              <dt>Created</dt>
              <dd>
                <TimeAgo at={last.at} /> <span className="muted small">({formatTime(last.at)})</span>
              </dd>
            </div>
            <div>
              <dt>Covers</dt>
              <dd>{last.size.toLocaleString("en")} commits</dd>
            </div>
            <div>
              <dt>Root</dt>
              <dd>
                <code className="long">{last.root}</code>
              </dd>
            </div>
            <div>
              <dt>Signed with key</dt>
              <dd>
                <code className="long">{last.key_id}</code>
              </dd>
            </div>
          </dl>
        )}
      </section>
      <section className="card">
        <h2>Export</h2>
        <p>All events, sign-ins and connector changes in one file.</p>
        <DownloadButton path="/audit/export" name="penstock-export.jsonl" text="Export everything" />
      </section>
    </>
  );
}

/** An entry of the history: a run event or a log event. */
type AuditEntry = { id: string; at: number } & ({ run: CompanyEvent; log: null } | { run: null; log: LogEntry });

interface EntryFilter {
  name: string;
  run: (event: RunEvent) => boolean;
  log: (event: LogEvent) => boolean;
}

const never = () => false;
const SESSION_EVENTS = ["registered", "logged_in", "logged_out", "login_refused"];
const FILTERS: Record<string, EntryFilter> = {
  people: { name: "People's actions", run: (event) => Boolean(event.by) && event.by !== "autopilot" && isPersonEvent(event), log: (event) => event.by !== "" },
  verdicts: { name: "Decisions", run: (event) => event.type === "verdict_given", log: never },
  connectors: { name: "Connector changes", run: never, log: (event) => event.type === "connector_changed" },
  sessions: { name: "Sign-ins", run: never, log: (event) => SESSION_EVENTS.includes(event.type) },
  starts: { name: "Runs started", run: (event) => event.type === "run_started", log: never },
  ends: { name: "Runs ended", run: (event) => event.type === "run_ended", log: never },
  all: { name: "Everything", run: () => true, log: () => true },
};

const POLL_MS = 15_000;
const EMPTY_LOG: CompanyLog = { entries: [], next: null };

/** Run events and log entries, as far back as each is loaded. */
interface Loaded {
  runs: LoadedEvents;
  log: CompanyLog;
}

function History({ logged }: { logged: boolean }) {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [kind, setKind] = useState("people");
  const [text, setText] = useState("");
  const load = useCallback(
    async (before: Loaded | null) => {
      setBusy(true);
      try {
        const { runs, log } = before ?? { runs: null, log: null };
        const reached = before === null ? null : oldestLoaded(before);
        const moreRuns = runs === null || (runs.from > 0 && reached !== null && reached.runs >= reached.log);
        const moreLog = logged && (log === null || (log.next !== null && reached !== null && reached.log >= reached.runs));
        const next = { runs: moreRuns ? await loadEarlierEvents(runs ?? { events: [], from: await latestPosition() }) : runs, log: moreLog ? await loadEarlierLog(log) : (log ?? EMPTY_LOG) };
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
  useEvents((events) => setLoaded((before) => before && { ...before, runs: mergeEvents(before.runs, { events, from: 0 }) }));
  const log = loaded?.log;
  useEffect(() => {
    if (!logged || log === undefined) return;
    const timer = setTimeout(() => {
      loadLaterLog(log).then(
        (found) => setLoaded((before) => before && (before.log === log ? { ...before, log: found } : before)),
        () => setLoaded((before) => before && { ...before, log: { ...before.log } }),
      );
    }, POLL_MS);
    return () => clearTimeout(timer);
  }, [logged, log]);
  if (loaded === null) return problem === null ? <Loading rows={6} what="Loading the history" /> : <LoadError problem={problem} retry={() => void load(null)} />;
  const known = mergeEntries(loaded);
  const wanted = text.trim().toLowerCase();
  const shown = known.filter((one) => matchesFilter(one, kind) && (wanted === "" || searchText(one).toLowerCase().includes(wanted)));
  const whole = loaded.runs.from === 0 && loaded.log.next === null;
  return (
    <section aria-label="History">
      <div className="filters" role="group" aria-label="Filters">
        <Filter label="Show" value={kind} onChange={setKind} options={Object.entries(FILTERS).map(([id, one]): [string, string] => [id, one.name])} />
        <SearchField label="Person, step, tool or run" value={text} onChange={setText} />
      </div>
      <p className="muted small" role="status">
        {coverageText(shown.length, known, whole)}
        {!logged && " Managers and owners also see sign-ins and connector changes."}
      </p>
      {shown.length === 0 ? (
        <EmptyState icon="audit" title={whole ? "No matching entries" : "No matching entries among those loaded"} />
      ) : (
        <ol className="history card">
          {shown.map((one) => (one.run === null ? <LogEntryItem key={one.id} event={one.log.event} /> : <RunEventItem key={one.id} one={one.run} />))}
        </ol>
      )}
      {problem !== null && <LoadError problem={problem} />}
      {!whole && (
        <button type="button" className="button more" disabled={busy} onClick={() => void load(loaded)}>
          {busy ? "Loading…" : "Show earlier"}
        </button>
      )}
    </section>
  );
}

/** How much of the history is loaded and shown. */
function coverageText(shown: number, known: AuditEntry[], whole: boolean): string {
  const count = (many: number) => `${many.toLocaleString("en")} ${many === 1 ? "entry" : "entries"}`;
  const oldest = known.at(-1);
  if (whole || oldest === undefined) return `Complete history: ${shown.toLocaleString("en")} of ${count(known.length)} match the filter.`;
  const since = formatTime(new Date(oldest.at).toISOString());
  return `Partial history: the newest ${count(known.length)}, since ${since}; ${shown.toLocaleString("en")} match the filter. Earlier entries are neither shown nor searched.`;
}

/** Merge events without duplicates. */
function mergeEvents(part: LoadedEvents, other: LoadedEvents | undefined): LoadedEvents {
  const known = new Set(part.events.map((one) => one.id));
  return { ...part, events: [...part.events, ...(other?.events ?? []).filter((one) => !known.has(one.id))] };
}

/** The time of the oldest loaded entry of each kind; -Infinity if all are loaded. */
function oldestLoaded({ runs, log }: Loaded): { runs: number; log: number } {
  return {
    runs: runs.from === 0 ? Number.NEGATIVE_INFINITY : Date.parse(runs.events[0]?.event.at ?? ""),
    log: log.next === null ? Number.NEGATIVE_INFINITY : Date.parse(log.entries.at(-1)?.event.at ?? ""),
  };
}

/** Entries of both kinds, newest first, since the time from which both are loaded. */
function mergeEntries(loaded: Loaded): AuditEntry[] {
  const reached = oldestLoaded(loaded);
  const since = Math.max(reached.runs, reached.log);
  const found: AuditEntry[] = [
    ...loaded.log.entries.map((one): AuditEntry => ({ id: `log-${one.seq}`, at: Date.parse(one.event.at), run: null, log: one })),
    ...loaded.runs.events.toReversed().map((one): AuditEntry => ({ id: one.id, at: Date.parse(one.event.at), run: one, log: null })),
  ];
  return found.filter((one) => !(one.at < since)).sort((one, other) => other.at - one.at);
}

function matchesFilter(one: AuditEntry, kind: string): boolean {
  const wanted = FILTERS[kind];
  return wanted !== undefined && (one.run === null ? wanted.log(one.log.event) : wanted.run(one.run.event));
}

/** The text that a search matches. */
function searchText(one: AuditEntry): string {
  if (one.run === null) return `${one.log.event.by} ${describeLogEvent(one.log.event)} ${describeChanges(one.log.event).join(" ")}`;
  const { event, run_id } = one.run;
  return `${event.by ?? ""} ${event.comment ?? ""} ${event.step_id ?? ""} ${event.vertical ?? ""} ${run_id}`;
}

function LogEntryItem({ event }: { event: LogEvent }) {
  return (
    <li>
      <p>
        <Icon name="gate" size={14} />{" "}
        <strong>
          <Label text={event.by === "" ? "The service" : event.by} maxLength={60} />
        </strong>{" "}
        <Label text={describeLogEvent(event)} maxLength={400} />
      </p>
      {describeChanges(event).map((line) => (
        <p key={line} className="small">
          <Label text={line} maxLength={400} />
        </p>
      ))}
      <p className="muted small">
        <time dateTime={event.at}>{formatTime(event.at)}</time>
      </p>
      {event.tool_id !== undefined && (
        <a className="small" href={linkTo("connectors", event.tool_id)}>
          <Icon name="connectors" size={14} /> <Label text={event.tool_id} maxLength={60} />
        </a>
      )}
    </li>
  );
}

const labelCache = new Map<string, Promise<Map<string, string>>>();
/** The labels of a run's steps, cached. */
function stepLabels(run: string): Promise<Map<string, string>> {
  const found = labelCache.get(run);
  if (found !== undefined) return found;
  const asked = get<Run>(`/process-runs/${run}`).then(async (one) => {
    const graph = await getCanvas(one.vertical, one.template.digest);
    return new Map([...graph.nodes.map((node): [string, string] => [node.id, node.label]), ["", graph.title]]);
  });
  labelCache.set(run, asked);
  asked.catch(() => labelCache.delete(run));
  return asked;
}

function RunEventItem({ one }: { one: CompanyEvent }) {
  const { value } = useLoad(`labels ${one.run_id}`, () => stepLabels(one.run_id));
  return (
    <li>
      <EventEntry event={one.event} label={(id) => value?.get(id) ?? id} />
      <a className="small" href={linkTo("runs", one.run_id)}>
        <Icon name="runs" size={14} /> <Label text={value?.get("") ?? "The run"} maxLength={60} />
        <span className="visually-hidden"> {one.run_id}</span>
      </a>
    </li>
  );
}
