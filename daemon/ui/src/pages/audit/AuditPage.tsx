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
import { audit as t } from "../../text/en/audit";

const SHOWN_AT_LEAST = 30;

export default function AuditPage() {
  return (
    <>
      <Heading title={t("audit")}>
        <p className="lead">{t("lead")}</p>
      </Heading>
      <div className="run-columns">
        <History />
        <section className="run-steps" aria-label={t("evidence")}>
          <Evidence />
          <section className="card">
            <h2>{t("publicKeys")}</h2>
            <p>{t("keysVerify", { command: <code>penstock verify FILE --key audit.pub</code> })}</p>
            <DownloadButton path="/audit/keys" name="audit.pub" text={t("publicKeys")} />
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
      <FilterBar query={query} search={t("search")} names={["show", "by", "since", "until"]}>
        <Filter
          label={t("show")}
          value={query.get("show") || "people"}
          onChange={(value) => query.set("show", value === "people" ? "" : value)}
          options={Object.keys(KINDS).map((id): [string, string] => [id, t.code("kind", id)])}
        />
        <PersonFilter query={query} label={t("person")} />
        <DateFilter query={query} name="since" label={t("from")} />
        <DateFilter query={query} name="until" label={t("to")} />
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
    <section aria-label={t("history")}>
      <HistoryFilters query={query} />
      {!history.loaded ? (
        problem === null ? (
          <Loading rows={6} what={t("loadingHistory")} />
        ) : (
          <LoadError problem={problem} retry={history.reload} />
        )
      ) : (
        <>
          <p className="muted small" role="status">
            {coverageText(entries, whole)}
          </p>
          {entries.length === 0 && whole ? (
            <EmptyState icon="audit" title={t("noEntries")} />
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
              {busy ? t("loadingMore") : t("showEarlier")}
            </button>
          )}
        </>
      )}
    </section>
  );
}
