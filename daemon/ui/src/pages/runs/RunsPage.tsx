/** The list of runs, newest first. */

import { useState } from "react";
import { type ApiResponse, send, toProblem } from "../../api/client";
import { useEvents } from "../../api/eventStream";
import type { Run } from "../../api/types";
import { StatusBadge } from "../../components/Badges";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { Filter } from "../../components/Filter";
import { Heading } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useNames } from "../../state/members";
import { linkTo, replaceQuery, useRoute } from "../../state/router";
import { useLoad, useTemplateTitles } from "../../state/useLoad";
import { humanize, keyInputs, RUN_STATUS_LABELS } from "../../text/labels";

const PAGE_SIZE = 50;
const STATUS_EVENTS = new Set(["run_started", "run_ended", "gate_opened", "verdict_given"]);

export function RunsPage() {
  const { query } = useRoute();
  const titles = useTemplateTitles();
  const parameters = new URLSearchParams({ limit: String(PAGE_SIZE) });
  for (const name of ["status", "vertical"])
    if (query.get(name)) parameters.set(name, query.get(name) ?? "");
  const path = `/process-runs/?${parameters}`;
  const first = useLoad(path, () => send<Run[]>("GET", path));
  useEvents((events) => {
    if (events.length === 0 || events.some((event) => STATUS_EVENTS.has(event.event.type)))
      first.reload();
  });
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    replaceQuery(next);
  };
  return (
    <>
      <Heading title="Runs">
        <a className="button primary" href="#/templates">
          <Icon name="plus" /> Start a run
        </a>
      </Heading>
      <div className="filters" role="group" aria-label="Filters">
        <Filter
          label="Status"
          value={query.get("status") ?? ""}
          onChange={(value) => set("status", value)}
          options={[["", "All"], ...Object.entries(RUN_STATUS_LABELS)]}
        />
        <Filter
          label="Template"
          value={query.get("vertical") ?? ""}
          onChange={(value) => set("vertical", value)}
          options={[["", "All"], ...titles]}
        />
      </div>
      {first.value === null ? (
        first.problem === null ? (
          <Loading rows={6} what="Loading the runs" />
        ) : (
          <LoadError problem={first.problem} retry={first.reload} />
        )
      ) : first.value.value.length === 0 ? (
        <EmptyState
          icon="runs"
          title={parameters.size > 1 ? "No run matches these filters" : "There are no runs yet"}
        >
          <p>
            {parameters.size > 1
              ? "Choose another status or template."
              : "Start one from a template. Each template has an example."}
          </p>
          {parameters.size === 1 && (
            <a className="button primary" href="#/templates">
              Choose a template
            </a>
          )}
        </EmptyState>
      ) : (
        <RunList key={path} first={first.value} titles={titles} />
      )}
    </>
  );
}

function RunList({ first, titles }: { first: ApiResponse<Run[]>; titles: Map<string, string> }) {
  const [rest, setRest] = useState<{ runs: Run[]; next: string | null } | null>(null);
  const [failed, setFailed] = useState("");
  const nameOf = useNames();
  const next = rest === null ? first.next : rest.next;
  const known = new Set(first.value.map((run) => run.id));
  const runs = [...first.value, ...(rest?.runs ?? []).filter((run) => !known.has(run.id))];
  const more = () => {
    if (next === null) return;
    setFailed("");
    send<Run[]>("GET", next).then(
      (page) =>
        setRest((before) => ({ runs: [...(before?.runs ?? []), ...page.value], next: page.next })),
      (error: unknown) => setFailed(toProblem(error).message),
    );
  };
  return (
    <>
      <ul className="rows" aria-label="Runs">
        {runs.map((run) => (
          <li key={run.id} className={`row run-${run.status}`}>
            <a className="row-main" href={linkTo("runs", run.id)}>
              <Label text={titles.get(run.vertical) ?? run.vertical} />
            </a>
            <p className="row-sub">
              <Label text={runHint(run, nameOf)} maxLength={80} />
            </p>
            <p className="row-badges">
              <StatusBadge status={run.status} />
              {run.outcome !== null && <Label text={humanize(run.outcome)} maxLength={40} />}
            </p>
            <p className="row-when">
              <TimeAgo at={run.created_at} />
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

function runHint(run: Run, nameOf: (by: string) => string): string {
  const found = keyInputs(run.inputs).map(([name, value]) => `${humanize(name)} ${value}`);
  return (
    found.join(" · ") ||
    `started by ${run.created_by_kind === "person" ? nameOf(run.created_by) : run.created_by}`
  );
}
