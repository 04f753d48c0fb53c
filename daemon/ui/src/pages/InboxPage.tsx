/** The inbox: open gates, the riskiest and oldest first. */

import { type KeyboardEvent, useMemo } from "react";
import type { Gate } from "../api/types";
import { ModeBadge, TierBadge } from "../components/Badges";
import { EmptyState, LoadError, Loading } from "../components/Feedback";
import { Filter, ShownCount } from "../components/Filter";
import { Heading } from "../components/Heading";
import { Icon } from "../components/Icon";
import { Label } from "../components/Text";
import { TimeAgo } from "../components/Time";
import {
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
import { humanize, keyInputs, mayDecide, TIERS } from "../text/labels";
import { countOf } from "../text/sentences";

const AGE_FILTERS: Record<string, { name: string; ms: number }> = {
  hour: { name: "Longer than an hour", ms: 3_600_000 },
  day: { name: "Longer than a day", ms: 86_400_000 },
  week: { name: "Longer than a week", ms: 604_800_000 },
};

export function InboxPage() {
  const inbox = useInbox();
  const waiting = useOpenGates();
  const titles = useTemplateTitles();
  const { role } = useAccount();
  const mine = useMemo(
    () => waiting.filter((one) => mayDecide(role, one.gate.role)),
    [waiting, role],
  );
  const shown = useFilteredGates(mine);
  const others = waiting.length - mine.length;
  return (
    <>
      <Heading title="Inbox">
        <p className="lead">
          {!inbox.loaded
            ? "Gates that wait for your decision"
            : mine.length === 0
              ? "No gate waits for your decision"
              : `${mine.length}${inbox.more ? "+" : ""} waiting for your decision`}
          {inbox.loaded &&
            others > 0 &&
            (mine.length === 0
              ? `; ${countOf(others, "decision")} ${others === 1 ? "waits" : "wait"} for others`
              : `, ${others} for others`)}
        </p>
      </Heading>
      {inbox.problem !== null && !inbox.loaded ? (
        <LoadError problem={inbox.problem} retry={() => void loadInbox()} />
      ) : !inbox.loaded && mine.length === 0 ? (
        <Loading rows={5} what="Loading the inbox" />
      ) : mine.length === 0 ? (
        <EmptyState icon="done" title="You are up to date">
          <p>A run that needs a decision appears here automatically.</p>
          <a className="button primary" href="#/templates">
            Start a run
          </a>
        </EmptyState>
      ) : (
        <>
          <Filters all={mine} titles={titles} shown={shown.length} />
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
              {shown.map((one) => (
                <Row
                  key={`${one.run.id} ${one.gate.step_id}`}
                  one={one}
                  title={titles.get(one.run.vertical) ?? one.run.vertical}
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
        (one) =>
          (vertical === "" || one.run.vertical === vertical) &&
          (tier === "" || one.gate.tier === tier),
      )
      .filter((one) => least === 0 || now - Date.parse(one.gate.opened_at) > least)
      .sort(order === "oldest" ? oldestFirst : riskiestFirst);
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
  const verticals = [...new Set(all.map((one) => one.run.vertical))].sort();
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
        ...verticals.map((one): [string, string] => [one, titles.get(one) ?? one]),
      ])}
      {choose("risk", "Risk", [
        ["", "All"],
        ...TIERS.map((one): [string, string] => [one, humanize(one)]),
      ])}
      {choose("age", "Waiting", [
        ["", "Any time"],
        ...Object.entries(AGE_FILTERS).map(([id, one]): [string, string] => [id, one.name]),
      ])}
      {choose("order", "Order", [
        ["", "Riskiest first"],
        ["oldest", "Oldest first"],
      ])}
      <ShownCount shown={shown} all={all.length} />
    </div>
  );
}

function Row({ one, title }: { one: OpenGate; title: string }) {
  const { run, gate } = one;
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
  const modes = [...effects.map((one) => one.mode), ...(effect === null ? [] : [effect.mode])];
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
