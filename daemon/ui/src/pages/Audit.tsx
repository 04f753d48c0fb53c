/** What happened in the company, newest first; the evidence for it, and its export. */

import { useCallback, useEffect, useState } from "react";
import { get, type Problem } from "../api";
import { asProblem, canvas, useLoad } from "../hooks";
import { useLive } from "../live";
import { earlier, type Part, present } from "../past";
import { Empty, Heading, Loading, Note, Trouble, When } from "../parts/Bits";
import { Filter, Search } from "../parts/Filter";
import { byPeople, Entry } from "../parts/History";
import { Icon } from "../parts/Icon";
import { Save } from "../parts/Save";
import { Label } from "../parts/Text";
import { to } from "../router";
import { useAccount } from "../session";
import type { Checkpoint, Placed, Run } from "../types";
import { mayDecide, moment } from "../words";

export function AuditPage() {
  const { role } = useAccount();
  return (
    <>
      <Heading title="Audit">
        <p className="lead">Who did what, and when. What became a fact here cannot be changed afterwards without leaving a trace.</p>
      </Heading>
      <div className="run-columns">
        <Past />
        <section className="run-steps" aria-label="Evidence">{mayDecide(role, "manager") ? <Evidence /> : <Note kind="info" title="Managers and owners see the evidence and the export." />}</section>
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
          problem === null ? <Loading rows={2} /> : <Trouble problem={problem} retry={reload} />
        ) : last === undefined ? (
          <p className="muted">Nothing is sealed yet. That happens within a minute of the first change.</p>
        ) : (
          <dl className="facts">
            <div>
              <dt>Sealed</dt>
              <dd>
                <When at={last.at} /> <span className="muted small">({moment(last.at)})</span>
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
        <p>Everything, with log-ins and changes of connectors, as one file. Anybody with the public keys can check it with <code>penstock verify</code>.</p>
        <Save path="/audit/export" name="penstock-export.jsonl" text="Export everything" />
        <Save path="/audit/keys" name="audit.pub" text="Public keys" />
      </section>
    </>
  );
}

const KINDS: Record<string, { name: string; fits: (one: Placed) => boolean }> = {
  people: { name: "What people did", fits: (one) => Boolean(one.event.by) && one.event.by !== "autopilot" && byPeople(one.event) },
  verdicts: { name: "Decisions", fits: (one) => one.event.type === "verdict_given" },
  starts: { name: "Runs started", fits: (one) => one.event.type === "run_started" },
  ends: { name: "Runs that ended", fits: (one) => one.event.type === "run_ended" },
  all: { name: "Everything", fits: () => true },
};

function Past() {
  const [part, setPart] = useState<Part | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [kind, setKind] = useState("people");
  const [text, setText] = useState("");
  const load = useCallback(async (before: Part | null) => {
    setBusy(true);
    try {
      setPart(await earlier(before ?? { events: [], from: await present() }));
      setProblem(null);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }, []);
  useEffect(() => void load(null), [load]);
  useLive((events) => {
    if (events.length > 0) setPart((before) => (before === null ? null : { ...before, events: [...before.events, ...events.filter((one) => !before.events.some((known) => known.id === one.id))] }));
  });
  if (part === null) return problem === null ? <Loading rows={6} what="Loading the history" /> : <Trouble problem={problem} retry={() => void load(null)} />;
  const wanted = text.trim().toLowerCase();
  const shown = part.events
    .filter((one) => KINDS[kind]?.fits(one) === true)
    .filter((one) => wanted === "" || `${one.event.by ?? ""} ${one.event.comment ?? ""} ${one.event.step_id ?? ""} ${one.event.vertical ?? ""} ${one.run_id}`.toLowerCase().includes(wanted))
    .toReversed();
  return (
    <section aria-label="History">
      <div className="filters" role="group" aria-label="Filters">
        <Filter label="Show" value={kind} onChange={setKind} options={Object.entries(KINDS).map(([id, one]): [string, string] => [id, one.name])} />
        <Search label="Person, step or run" value={text} onChange={setText} />
      </div>
      {shown.length === 0 ? (
        <Empty icon="audit" title={part.from === 0 ? "Nothing of that kind has happened" : "Nothing of that kind among what is loaded"} />
      ) : (
        <ol className="history card">
          {shown.map((one) => (
            <Line key={one.id} one={one} />
          ))}
        </ol>
      )}
      {problem !== null && <Trouble problem={problem} />}
      {part.from > 0 && (
        <button type="button" className="button more" disabled={busy} onClick={() => void load(part)}>
          {busy ? "Loading…" : "Show earlier"}
        </button>
      )}
    </section>
  );
}

const named = new Map<string, Promise<Map<string, string>>>();
/** The labels of a run's steps: asked for once for each run that is shown. */
function labels(run: string): Promise<Map<string, string>> {
  const found = named.get(run);
  if (found !== undefined) return found;
  const asked = get<Run>(`/process-runs/${run}`).then(async (one) => {
    const graph = await canvas(one.vertical, one.template.digest);
    return new Map([...graph.nodes.map((node): [string, string] => [node.id, node.label]), ["", graph.title]]);
  });
  named.set(run, asked);
  asked.catch(() => named.delete(run));
  return asked;
}

function Line({ one }: { one: Placed }) {
  const { value } = useLoad(`labels ${one.run_id}`, () => labels(one.run_id));
  return (
    <li>
      <Entry event={one.event} label={(id) => value?.get(id) ?? id} />
      <a className="small" href={to("runs", one.run_id)}>
        <Icon name="runs" size={14} /> <Label text={value?.get("") ?? "The run"} most={60} />
        <span className="unseen"> {one.run_id}</span>
      </a>
    </li>
  );
}
