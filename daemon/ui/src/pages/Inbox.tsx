/** What waits for a decision: the riskiest and the oldest first. */

import { type KeyboardEvent, useMemo } from "react";
import { templates, useLoad, useNow } from "../hooks";
import { loadInbox, oldestFirst, riskiestFirst, useInbox, useWaiting, type Waiting } from "../inbox";
import { Empty, Heading, Loading, ModeBadge, TierBadge, Trouble, When } from "../parts/Bits";
import { Filter, Shown } from "../parts/Filter";
import { Icon } from "../parts/Icon";
import { Label } from "../parts/Text";
import { narrow, to, usePlace } from "../router";
import { counted } from "../sentences";
import { useAccount } from "../session";
import type { Gate } from "../types";
import { mayDecide, named, TIERS } from "../words";

const AGES: Record<string, { name: string; ms: number }> = {
  hour: { name: "Longer than an hour", ms: 3_600_000 },
  day: { name: "Longer than a day", ms: 86_400_000 },
  week: { name: "Longer than a week", ms: 604_800_000 },
};

export function InboxPage() {
  const inbox = useInbox();
  const waiting = useWaiting();
  const titles = useTitles();
  const { role } = useAccount();
  const mine = useMemo(() => waiting.filter((one) => mayDecide(role, one.gate.role)), [waiting, role]);
  const shown = useNarrowed(mine);
  const others = waiting.length - mine.length;
  return (
    <>
      <Heading title="Inbox">
        <p className="lead">
          {!inbox.loaded ? "What waits for your decision" : mine.length === 0 ? "Nothing waits for your decision" : `${mine.length}${inbox.more ? "+" : ""} waiting for your decision`}
          {inbox.loaded && others > 0 && (mine.length === 0 ? `; ${counted(others, "decision")} ${others === 1 ? "waits" : "wait"} for others` : `, ${others} for others`)}
        </p>
      </Heading>
      {inbox.problem !== null && !inbox.loaded ? (
        <Trouble problem={inbox.problem} retry={() => void loadInbox()} />
      ) : !inbox.loaded && mine.length === 0 ? (
        <Loading rows={5} what="Loading the inbox" />
      ) : mine.length === 0 ? (
        <Empty icon="done" title="You are up to date">
          <p>When a run needs a decision, it appears here by itself.</p>
          <a className="button primary" href="#/templates">
            Start a run
          </a>
        </Empty>
      ) : (
        <>
          <Filters all={mine} titles={titles} shown={shown.length} />
          {shown.length === 0 ? (
            <Empty icon="search" title="Nothing fits these filters">
              <button type="button" className="button" onClick={() => narrow(new URLSearchParams())}>
                Show everything
              </button>
            </Empty>
          ) : (
            <ul className="rows" onKeyDown={move} aria-label="Waiting for a decision">
              {shown.map((one) => (
                <Row key={`${one.run.id} ${one.gate.step_id}`} one={one} title={titles.get(one.run.vertical) ?? one.run.vertical} />
              ))}
            </ul>
          )}
        </>
      )}
    </>
  );
}

export function useTitles(): Map<string, string> {
  const { value } = useLoad("templates", templates);
  return useMemo(() => new Map((value ?? []).map((one) => [one.vertical, one.title])), [value]);
}

function useNarrowed(mine: Waiting[]): Waiting[] {
  const { query } = usePlace();
  const now = useNow();
  const [vertical, tier, age, order] = ["template", "risk", "age", "order"].map((name) => query.get(name) ?? "");
  return useMemo(() => {
    const least = AGES[age ?? ""]?.ms ?? 0;
    return mine
      .filter((one) => (vertical === "" || one.run.vertical === vertical) && (tier === "" || one.gate.tier === tier))
      .filter((one) => least === 0 || now - Date.parse(one.gate.opened_at) > least)
      .sort(order === "oldest" ? oldestFirst : riskiestFirst);
  }, [mine, vertical, tier, age, order, now]);
}

function Filters({ all, titles, shown }: { all: Waiting[]; titles: Map<string, string>; shown: number }) {
  const { query } = usePlace();
  const verticals = [...new Set(all.map((one) => one.run.vertical))].sort();
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    narrow(next);
  };
  const choose = (name: string, label: string, options: [string, string][]) => (
    <Filter label={label} value={query.get(name) ?? ""} onChange={(value) => set(name, value)} options={options} />
  );
  return (
    <div className="filters" role="group" aria-label="Filters">
      {choose("template", "Template", [["", "All"], ...verticals.map((one): [string, string] => [one, titles.get(one) ?? one])])}
      {choose("risk", "Risk", [["", "All"], ...TIERS.map((one): [string, string] => [one, named(one)])])}
      {choose("age", "Waiting", [["", "Any time"], ...Object.entries(AGES).map(([id, one]): [string, string] => [id, one.name])])}
      {choose("order", "Order", [["", "Riskiest first"], ["oldest", "Oldest first"]])}
      <Shown shown={shown} all={all.length} />
    </div>
  );
}

function Row({ one, title }: { one: Waiting; title: string }) {
  const { run, gate } = one;
  const mode = leadsTo(gate);
  return (
    <li className={`row edge-${gate.tier}`}>
      <a className="row-main" href={to("runs", run.id, "gates", gate.step_id)}>
        <Label text={gate.label} />
      </a>
      <p className="row-sub">
        <Label text={title} most={80} />
        <Hint inputs={run.inputs} />
      </p>
      <p className="row-badges">
        <TierBadge tier={gate.tier} />
        {mode !== null && <ModeBadge mode={mode} />}
      </p>
      <p className="row-when">
        <When at={gate.opened_at} />
      </p>
      <Icon name="forward" />
    </li>
  );
}

/** Live as soon as anything is that an approval can lead to; null where it leads to no call. */
function leadsTo({ effect, effects = [] }: Gate): "shadow" | "live" | null {
  const modes = [...effects.map((one) => one.mode), ...(effect === null ? [] : [effect.mode])];
  return modes.length === 0 ? null : modes.includes("live") ? "live" : "shadow";
}

/** The first inputs, so that two runs of one template are told apart. */
function Hint({ inputs }: { inputs: Waiting["run"]["inputs"] }) {
  return telling(inputs).map(([name, value]) => (
    <span key={name}>
      {" · "}
      <Label text={named(name)} most={30} /> <Label text={value} most={40} />
    </span>
  ));
}

/** The two inputs that tell most: what is a name or a number of something, then any other text. */
export function telling(inputs: Waiting["run"]["inputs"]): [string, string][] {
  const found = Object.entries(inputs).flatMap(([name, value]): [string, string][] => (typeof value === "string" && value !== "" ? [[name, value]] : typeof value === "number" ? [[name, String(value)]] : []));
  const weight = ([name]: [string, string]) => (/_?(id|name|ref|number|code|party|person|service)$/.test(name) ? 0 : /amount|balance|total/.test(name) ? 1 : 2);
  return found.sort((one, other) => weight(one) - weight(other)).slice(0, 2);
}

/** Arrows, or j and k, move between the rows; Enter opens one, since each is a link. */
function move(event: KeyboardEvent<HTMLUListElement>): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>(".row-main")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
  event.preventDefault();
}
