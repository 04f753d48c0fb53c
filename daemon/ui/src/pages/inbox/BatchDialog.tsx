/** What a decision at several gates covers. It counts once each of them was in sight. */

import { useEffect, useId, useMemo, useRef, useState } from "react";
import { newIdempotencyKey, post, toProblem } from "../../api/client";
import { useEvents } from "../../api/eventStream";
import type { GateRow, OpenGate, VerdictResults } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Label } from "../../components/Text";
import { useNames } from "../../state/members";
import { useAccount } from "../../state/session";
import { identityOf } from "../../text/identity";
import { asked } from "../../text/sentences";
import { common } from "../../text/en/common";
import { BatchGroups } from "./BatchRows";
import {
  type Alone,
  type BatchDecision,
  type BatchItem,
  batchOf,
  type BatchPlan,
  keyOfItem,
  loadGates,
} from "./batchVerdicts";
import { inbox as t } from "../../text/en/inbox";

export interface Outcome {
  decision: BatchDecision;
  done: number;
  /** What was refused, and why. */
  refused: string[];
}

interface Props {
  decision: BatchDecision;
  rows: GateRow[];
  onNo: () => void;
  onDone: (outcome: Outcome) => void;
}

export function BatchDialog({ decision, rows, onNo, onDone }: Props) {
  const id = useId();
  const [comment, setComment] = useState("");
  const [sent, setSent] = useState<BatchPlan | null>(null);
  const [failed, setFailed] = useState("");
  const keys = useRef(new Map<string, string>());
  const { gates, loaded } = useGates(rows);
  const plan = useMemo(() => batchOf(rows, gates, decision), [rows, gates, decision]);
  // What is sent stays as it was seen, while the gates leave the list one after the other.
  const batch = sent ?? plan;
  const seen = useSeen();
  const unseen = batch.taken.filter(({ row }) => !seen.keys.has(keyOfItem(row)));
  const count = batch.taken.length;
  const missing = batch.comment && comment.trim() === "";
  const ready = loaded && count > 0 && unseen.length === 0 && !missing;
  const send = async () => {
    if (!ready || sent !== null) return;
    setSent(plan);
    try {
      onDone(await sendAll(plan.taken, decision, comment.trim(), keys.current));
    } catch (error) {
      setFailed(toProblem(error).message);
      setSent(null);
    }
  };
  const approves = decision === "approved";
  return (
    <Dialog
      title={
        loaded && count === 0
          ? t("noneTogether")
          : t(approves ? "approveThese" : "denyThese", { count })
      }
      yes={t(approves ? "approveCount" : "denyCount", { count })}
      danger={!approves}
      busy={sent !== null}
      ready={ready}
      onYes={() => void send()}
      onNo={onNo}
    >
      {!loaded && <p role="status">{t("loadingCalls")}</p>}
      <Claims items={batch.taken} />
      <div
        className="batch-rows"
        ref={seen.box}
        tabIndex={0}
        role="group"
        aria-label={t("selectedGates")}
      >
        <BatchGroups items={batch.taken} decision={decision} />
        <LeftOut left={loaded ? batch.left : []} />
      </div>
      <p className="small batch-seen" role="status">
        {sent !== null ? (
          <Progress items={sent.taken} />
        ) : unseen.length > 0 ? (
          <>
            {t("seenOf", { seen: count - unseen.length, count })}{" "}
            <button type="button" className="link" onClick={() => seen.show(unseen)}>
              {t("showNext")}
            </button>
          </>
        ) : (
          count > 0 && t("seenAll", { count })
        )}
      </p>
      {count > 0 && (
        <div className="field">
          <label htmlFor={id}>
            {t("comment")}{" "}
            {!batch.comment && <span className="optional">{common("optional")}</span>}
          </label>
          <textarea
            id={id}
            rows={2}
            value={comment}
            maxLength={2_000}
            disabled={sent !== null}
            onChange={(event) => setComment(event.target.value)}
          />
          <p className="hint">{t("batchHint")}</p>
        </div>
      )}
      {failed !== "" && <p role="alert">{failed}</p>}
    </Dialog>
  );
}

/** The gates of the rows with their calls, loaded again where a gate has changed. */
function useGates(rows: GateRow[]): {
  gates: ReadonlyMap<string, OpenGate | Alone>;
  loaded: boolean;
} {
  const [gates, setGates] = useState<ReadonlyMap<string, OpenGate | Alone>>(new Map());
  const begun = useRef(new Set<string>());
  useEffect(() => {
    const wanted = rows.filter((row) => !begun.current.has(keyOfItem(row)));
    for (const row of wanted) begun.current.add(keyOfItem(row));
    const found = new Map<string, OpenGate | Alone>();
    void loadGates(wanted, (key, gate) => found.set(key, gate)).then(() =>
      setGates((before) => new Map([...before, ...found])),
    );
  }, [rows]);
  return { gates, loaded: rows.every((row) => gates.has(keyOfItem(row))) };
}

interface Seen {
  keys: ReadonlySet<string>;
  box: React.RefObject<HTMLDivElement | null>;
  /** Bring the first of these into sight. */
  show: (items: BatchItem[]) => void;
}

/** Which rows have been in sight to their end. */
function useSeen(): Seen {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const box = useRef<HTMLDivElement>(null);
  const observer = useRef<IntersectionObserver | null>(null);
  useEffect(() => {
    const note = (entries: IntersectionObserverEntry[]) => {
      const found = entries
        .filter((entry) => entry.isIntersecting)
        .map((entry) => (entry.target as HTMLElement).dataset["key"] ?? "");
      if (found.length > 0) setKeys((before) => new Set([...before, ...found]));
    };
    observer.current = new IntersectionObserver(note, { root: box.current });
    return () => observer.current?.disconnect();
  }, []);
  useEffect(() => {
    // To observe an element again changes nothing.
    for (const end of box.current?.querySelectorAll("[data-key]") ?? [])
      observer.current?.observe(end);
  });
  const show = ([first]: BatchItem[]) => {
    const key = first === undefined ? "" : keyOfItem(first.row);
    box.current?.querySelector(`[data-key="${CSS.escape(key)}"]`)?.scrollIntoView({ block: "end" });
    box.current?.focus({ preventScroll: true });
  };
  return { keys, box, show };
}

/** Who else looks at these gates. */
function Claims({ items }: { items: BatchItem[] }) {
  const { user } = useAccount();
  const nameOf = useNames();
  const others = items.flatMap(({ row }) =>
    row.claimed_by === null || row.claimed_by === user.email ? [] : [nameOf(row.claimed_by)],
  );
  if (others.length === 0) return null;
  return (
    <p className="warn-text">
      <strong>
        {t("claimedByOthers", { count: others.length, names: [...new Set(others)].join(", ") })}
      </strong>
    </p>
  );
}

function LeftOut({ left }: { left: BatchPlan["left"] }) {
  if (left.length === 0) return null;
  return (
    <section>
      <h3>{t("leftOut", { count: left.length })}</h3>
      <ul className="items">
        {left.map(({ row, why }) => (
          <li key={keyOfItem(row)}>
            <strong>
              <Label text={nameOfRow(row)} maxLength={80} />
            </strong>{" "}
            <Label text={asked(row.gate)} maxLength={300} />
            <br />
            <span className="muted">{t(`alone.${why}`)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How many verdicts have been recorded; the calls behind them may take long. */
function Progress({ items }: { items: BatchItem[] }) {
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const runs = useMemo(() => new Set(items.map(({ row }) => row.run_id)), [items]);
  useEvents((events) => {
    const found = events
      .filter(({ run_id, event }) => event.type === "verdict_given" && runs.has(run_id))
      .map(({ run_id, event }) => `${run_id} ${event.step_id ?? ""}`);
    if (found.length > 0) setDone((before) => new Set([...before, ...found]));
  });
  return (
    <>
      {t("recordedOf", { done: Math.min(done.size, items.length), count: items.length })}
      <progress value={done.size} max={items.length} aria-hidden="true" />
    </>
  );
}

export function nameOfRow(row: GateRow): string {
  return identityOf(row.business_key, row.inputs)?.value ?? row.run_id;
}

/** Send the verdicts; the same ones keep their key, so that a repeat decides nothing twice. */
async function sendAll(
  items: BatchItem[],
  decision: BatchDecision,
  comment: string,
  keys: Map<string, string>,
): Promise<Outcome> {
  const outcome: Outcome = { decision, done: 0, refused: [] };
  const verdicts = items.map(({ row, open }) => ({
    run_id: row.run_id,
    gate: row.gate.step_id,
    decision,
    digest: open.gate.digest,
    ...(comment === "" ? {} : { comment }),
  }));
  const body = JSON.stringify(verdicts);
  const key = keys.get(body) ?? newIdempotencyKey();
  keys.set(body, key);
  const { results } = await post<VerdictResults>("/gates/verdicts", { verdicts }, key);
  results.forEach((result, index) => {
    const row = items[index]?.row;
    if (result.status < 400) outcome.done++;
    else if (row !== undefined)
      outcome.refused.push(
        `${nameOfRow(row)}: ${String(result.problem?.["detail"] ?? t("refused"))}`,
      );
  });
  return outcome;
}
