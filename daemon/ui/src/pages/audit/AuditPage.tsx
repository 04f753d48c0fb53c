/** The audit page: history of the company, checkpoints and export. */

import { useEffect, useMemo } from "react";
import { DownloadButton } from "../../components/DownloadButton";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { Filter } from "../../components/Filter";
import { Heading } from "../../components/Heading";
import { DateFilter } from "../../components/list/DateFilter";
import { FilterBar } from "../../components/list/FilterBar";
import { PersonFilter } from "../../components/list/PersonFilter";
import { SavedViews } from "../../components/list/SavedViews";
import { useMembers, useNames } from "../../state/members";
import { type Query, useQuery } from "../../state/query";
import { Evidence } from "./Checkpoints";
import { coverageText } from "./entries";
import { LogEntryItem, RunEventItem } from "./HistoryItems";
import { KINDS } from "./kinds";
import type { Names } from "./logSentences";
import { useHistory } from "./useHistory";

const SHOWN_AT_LEAST = 30;

export default function AuditPage() {
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

function HistoryFilters({ query }: { query: Query }) {
  return (
    <>
      <FilterBar
        query={query}
        search="Step, tool, run or text"
        names={["show", "by", "since", "until"]}
      >
        <Filter
          label="Show"
          value={query.get("show") || "people"}
          onChange={(value) => query.set("show", value === "people" ? "" : value)}
          options={Object.entries(KINDS).map(([id, kind]): [string, string] => [id, kind.name])}
        />
        <PersonFilter query={query} label="Person" />
        <DateFilter query={query} name="since" label="From" />
        <DateFilter query={query} name="until" label="To" />
      </FilterBar>
      <div className="list-tools">
        <SavedViews list="audit" base="#/audit" query={query.text} />
      </div>
    </>
  );
}

function History() {
  const query = useQuery();
  const names = useLogNames();
  const history = useHistory(query);
  const { entries, whole, busy, problem, loadMore } = history;
  // A page may hold little that matches: the search goes on until there is something to read.
  useEffect(() => {
    if (history.loaded && !whole && !busy && problem === null && entries.length < SHOWN_AT_LEAST)
      loadMore();
  });
  return (
    <section aria-label="History">
      <HistoryFilters query={query} />
      {!history.loaded ? (
        problem === null ? (
          <Loading rows={6} what="Loading the history" />
        ) : (
          <LoadError problem={problem} retry={history.reload} />
        )
      ) : (
        <>
          <p className="muted small" role="status">
            {coverageText(entries, whole)}
          </p>
          {entries.length === 0 && whole ? (
            <EmptyState icon="audit" title="No matching entries" />
          ) : (
            <ol className="history card">
              {entries.map((entry) =>
                entry.run === null ? (
                  <LogEntryItem key={entry.id} event={entry.log.event} names={names} />
                ) : (
                  <RunEventItem key={entry.id} item={entry.run} />
                ),
              )}
            </ol>
          )}
          {problem !== null && <LoadError problem={problem} retry={loadMore} />}
          {!whole && (
            <button type="button" className="button more" disabled={busy} onClick={loadMore}>
              {busy ? "Loading…" : "Show earlier"}
            </button>
          )}
        </>
      )}
    </section>
  );
}
