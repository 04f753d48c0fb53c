/** The inbox: open gates, the riskiest and oldest first. */

import { type KeyboardEvent, useMemo } from "react";
import type { Gate } from "../api/types";
import { ModeBadge, ProposalBadge, TierBadge } from "../components/Badges";
import { DueTime } from "../components/DueTime";
import { EmptyState, LoadError, Loading } from "../components/Feedback";
import { Filter, ShownCount } from "../components/Filter";
import { Heading } from "../components/Heading";
import { Icon } from "../components/Icon";
import { Label } from "../components/Text";
import { TimeAgo } from "../components/Time";
import {
  dueFirst,
  isMine,
  loadInbox,
  oldestFirst,
  type OpenGate,
  riskiestFirst,
  useInbox,
  useOpenGates,
} from "../state/inbox";
import { linkTo, replaceQuery, useRoute } from "../state/router";
import { useAccount } from "../state/session";
import { useTemplateTitles } from "../state/useLoad";
import { useNow } from "../state/useNow";
import { humanize, keyInputs, TIERS } from "../text/labels";
import { countOf } from "../text/sentences";

const AGE_FILTERS: Record<string, { name: string; ms: number }> = {
  hour: { name: "Longer than an hour", ms: 3_600_000 },
  day: { name: "Longer than a day", ms: 86_400_000 },
  week: { name: "Longer than a week", ms: 604_800_000 },
};

const ORDERS: Record<string, (a: OpenGate, b: OpenGate) => number> = {
  due: dueFirst,
  oldest: oldestFirst,
};

export function InboxPage() {
  const inbox = useInbox();
  const waiting = useOpenGates();
  const titles = useTemplateTitles();
  const { role } = useAccount();
  const decidable = useMemo(() => waiting.filter((item) => isMine(item, role)), [waiting, role]);
  const shown = useFilteredGates(decidable);
  const others = waiting.length - decidable.length;
  return (
    <>
      <Heading title="Inbox">
        <p className="lead">
          {!inbox.loaded
            ? "Gates that wait for your decision"
            : decidable.length === 0
              ? "No gate waits for your decision"
              : `${decidable.length}${inbox.more ? "+" : ""} waiting for your decision`}
          {inbox.loaded &&
            others > 0 &&
            (decidable.length === 0
              ? `; ${countOf(others, "decision")} ${others === 1 ? "waits" : "wait"} for others`
              : `, ${others} for others`)}
        </p>
      </Heading>
      {inbox.problem !== null && !inbox.loaded ? (
        <LoadError problem={inbox.problem} retry={() => void loadInbox()} />
      ) : !inbox.loaded && decidable.length === 0 ? (
        <Loading rows={5} what="Loading the inbox" />
      ) : decidable.length === 0 ? (
        <EmptyState icon="done" title="You are up to date">
          <p>A run that needs a decision appears here automatically.</p>
          <a className="button primary" href="#/templates">
            Start a run
          </a>
        </EmptyState>
      ) : (
        <>
          <Filters all={decidable} titles={titles} shown={shown.length} />
          {shown.length === 0 ? (
            <EmptyState icon="search" title="No gate matches these filters">
              <button
                type="button"
                className="button"
                onClick={() => replaceQuery(new URLSearchParams())}
              >
                Show everything
              </button>
            </EmptyState>
          ) : (
            <ul className="rows" onKeyDown={moveFocus} aria-label="Waiting for a decision">
              {shown.map((item) => (
                <Row
                  key={`${item.run.id} ${item.gate.step_id}`}
                  item={item}
                  title={titles.get(item.run.vertical) ?? item.run.vertical}
                />
              ))}
            </ul>
          )}
        </>
      )}
    </>
  );
}

function useFilteredGates(mine: OpenGate[]): OpenGate[] {
  const { query } = useRoute();
  const now = useNow();
  const [vertical, tier, age, order] = ["template", "risk", "age", "order"].map(
    (name) => query.get(name) ?? "",
  );
  return useMemo(() => {
    const least = AGE_FILTERS[age ?? ""]?.ms ?? 0;
    return mine
      .filter(
        (item) =>
          (vertical === "" || item.run.vertical === vertical) &&
          (tier === "" || item.gate.tier === tier),
      )
      .filter((item) => least === 0 || now - Date.parse(item.gate.opened_at) > least)
      .sort(ORDERS[order ?? ""] ?? riskiestFirst);
  }, [mine, vertical, tier, age, order, now]);
}

function Filters({
  all,
  titles,
  shown,
}: {
  all: OpenGate[];
  titles: Map<string, string>;
  shown: number;
}) {
  const { query } = useRoute();
  const verticals = [...new Set(all.map((item) => item.run.vertical))].sort();
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    replaceQuery(next);
  };
  const choose = (name: string, label: string, options: [string, string][]) => (
    <Filter
      label={label}
      value={query.get(name) ?? ""}
      onChange={(value) => set(name, value)}
      options={options}
    />
  );
  return (
    <div className="filters" role="group" aria-label="Filters">
      {choose("template", "Template", [
        ["", "All"],
        ...verticals.map((name): [string, string] => [name, titles.get(name) ?? name]),
      ])}
      {choose("risk", "Risk", [
        ["", "All"],
        ...TIERS.map((name): [string, string] => [name, humanize(name)]),
      ])}
      {choose("age", "Waiting", [
        ["", "Any time"],
        ...Object.entries(AGE_FILTERS).map(([id, item]): [string, string] => [id, item.name]),
      ])}
      {choose("order", "Order", [
        ["", "Riskiest first"],
        ["due", "Due first"],
        ["oldest", "Oldest first"],
      ])}
      <ShownCount shown={shown} all={all.length} />
    </div>
  );
}

function Row({ item, title }: { item: OpenGate; title: string }) {
  const { run, gate } = item;
  const mode = gateMode(gate);
  return (
    <li className={`row row-${gate.tier}`}>
      <a className="row-main" href={linkTo("runs", run.id, "gates", gate.step_id)}>
        <Label text={gate.label} />
      </a>
      <p className="row-sub">
        <Label text={title} maxLength={80} />
        <KeyInputs inputs={run.inputs} />
      </p>
      <p className="row-badges">
        <TierBadge tier={gate.tier} />
        {mode !== null && <ModeBadge mode={mode} />}
        {gate.due_at !== null && <DueTime at={gate.due_at} />}
        {gate.blocked !== null && <span className="badge state-failed">Too few may decide</span>}
        {gate.verdicts.length > 0 && (
          <span className="badge">
            {gate.verdicts.length} of {gate.policy.quorum} decided
          </span>
        )}
        {gate.proposals.length > 0 && <ProposalBadge count={gate.proposals.length} />}
      </p>
      <p className="row-when">
        <TimeAgo at={gate.opened_at} />
      </p>
      <Icon name="forward" />
    </li>
  );
}

/** Live if a decision can lead to a live call; null if it leads to no call. */
function gateMode({ effect, effects }: Gate): "shadow" | "live" | null {
  const modes = [...effects.map((call) => call.mode), ...(effect === null ? [] : [effect.mode])];
  return modes.length === 0 ? null : modes.includes("live") ? "live" : "shadow";
}

/** Inputs that identify the run. */
function KeyInputs({ inputs }: { inputs: OpenGate["run"]["inputs"] }) {
  return keyInputs(inputs).map(([name, value]) => (
    <span key={name}>
      {" · "}
      <Label text={humanize(name)} maxLength={30} /> <Label text={value} maxLength={40} />
    </span>
  ));
}

/** Arrow keys, or j and k, move between rows. */
function moveFocus(event: KeyboardEvent<HTMLUListElement>): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>(".row-main")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
  event.preventDefault();
}
