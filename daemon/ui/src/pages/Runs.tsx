/** All runs, newest first. */

import { useState } from "react";
import { type Answer, send } from "../api";
import { asProblem, useLoad } from "../hooks";
import { useLive } from "../live";
import { Empty, Heading, Loading, StatusBadge, Trouble, When } from "../parts/Bits";
import { Filter } from "../parts/Filter";
import { Icon } from "../parts/Icon";
import { Label } from "../parts/Text";
import { narrow, to, usePlace } from "../router";
import type { Run } from "../types";
import { named, STATUS } from "../words";
import { telling, useTitles } from "./Inbox";

const PAGE = 50;
const LATE = new Set(["run_started", "run_ended", "gate_opened", "verdict_given"]);

export function RunsPage() {
  const { query } = usePlace();
  const titles = useTitles();
  const asked = new URLSearchParams({ limit: String(PAGE) });
  for (const name of ["status", "vertical"]) if (query.get(name)) asked.set(name, query.get(name) ?? "");
  const path = `/process-runs/?${asked}`;
  const first = useLoad(path, () => send<Run[]>("GET", path));
  useLive((events) => {
    if (events.length === 0 || events.some((one) => LATE.has(one.event.type))) first.reload();
  });
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    narrow(next);
  };
  return (
    <>
      <Heading title="Runs">
        <a className="button primary" href="#/templates">
          <Icon name="plus" /> Start a run
        </a>
      </Heading>
      <div className="filters" role="group" aria-label="Filters">
        <Filter label="Status" value={query.get("status") ?? ""} onChange={(value) => set("status", value)} options={[["", "All"], ...Object.entries(STATUS)]} />
        <Filter label="Template" value={query.get("vertical") ?? ""} onChange={(value) => set("vertical", value)} options={[["", "All"], ...titles]} />
      </div>
      {first.value === null ? (
        first.problem === null ? (
          <Loading rows={6} what="Loading the runs" />
        ) : (
          <Trouble problem={first.problem} retry={first.reload} />
        )
      ) : first.value.value.length === 0 ? (
        <Empty icon="runs" title={asked.size > 1 ? "No run fits these filters" : "There are no runs yet"}>
          <p>{asked.size > 1 ? "Choose another status or template." : "Start one from a template: each brings an example."}</p>
          {asked.size === 1 && (
            <a className="button primary" href="#/templates">
              Choose a template
            </a>
          )}
        </Empty>
      ) : (
        <List key={path} first={first.value} titles={titles} />
      )}
    </>
  );
}

function List({ first, titles }: { first: Answer<Run[]>; titles: Map<string, string> }) {
  const [rest, setRest] = useState<{ runs: Run[]; next: string | null } | null>(null);
  const [failed, setFailed] = useState("");
  const next = rest === null ? first.next : rest.next;
  const known = new Set(first.value.map((run) => run.id));
  const runs = [...first.value, ...(rest?.runs ?? []).filter((run) => !known.has(run.id))];
  const more = () => {
    if (next === null) return;
    setFailed("");
    send<Run[]>("GET", next).then(
      (page) => setRest((before) => ({ runs: [...(before?.runs ?? []), ...page.value], next: page.next })),
      (error: unknown) => setFailed(asProblem(error).message),
    );
  };
  return (
    <>
      <ul className="rows" aria-label="Runs">
        {runs.map((run) => (
          <li key={run.id} className={`row run-${run.status}`}>
            <a className="row-main" href={to("runs", run.id)}>
              <Label text={titles.get(run.vertical) ?? run.vertical} />
            </a>
            <p className="row-sub">
              <Label text={hint(run)} most={80} />
            </p>
            <p className="row-badges">
              <StatusBadge status={run.status} />
              {run.outcome !== null && <Label text={named(run.outcome)} most={40} />}
            </p>
            <p className="row-when">
              <When at={run.created_at} />
            </p>
            <Icon name="forward" />
          </li>
        ))}
      </ul>
      {failed !== "" && <p role="alert">{failed}</p>}
      {next !== null && (
        <button type="button" className="button more" onClick={more}>
          Show older runs
        </button>
      )}
    </>
  );
}

function hint(run: Run): string {
  const found = telling(run.inputs).map(([name, value]) => `${named(name)} ${value}`);
  return found.join(" · ") || `started by ${run.created_by}`;
}
