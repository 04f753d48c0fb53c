/** Changes that wait for another person: what each would change, and the decision about it. */

import { useEffect, useRef, useState } from "react";
import { newIdempotencyKey, post, Problem, toProblem } from "../../api/client";
import type { GatedChange } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Differences, StepDifferences } from "../../components/Differences";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { FormProblem } from "../../components/FieldErrors";
import { Breadcrumbs, Heading } from "../../components/Heading";
import { PersonName } from "../../components/record/PersonName";
import { Label, Text } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { changesPath, loadChanges, useChanges } from "../../state/changes";
import { useCursorList } from "../../state/cursorList";
import { linkTo } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { changes as t } from "../../text/en/changes";
import { people } from "../../text/en/people";
import { formatTime } from "../../text/labels";
import { whatChanges } from "./changeDifferences";

type Word = "approve" | "deny";
/** What a decision came to, or why it came too late. */
type Result = GatedChange | Problem;

/** A change of which the service says so is not open any more. */
const TOO_LATE = new Set([409, 410, 412]);

/** So many are shown unfolded: each asks for what stands now. */
const UNFOLDED = 3;

export default function ChangesPage() {
  const { decides, problem } = useChanges();
  return (
    <>
      <Breadcrumbs href="#/people" text={people("people")} />
      <Heading title={t("title")}>
        <p className="lead">{t("lead")}</p>
      </Heading>
      {decides === false ? (
        <Note kind="info" title={t("onlyDeciders")} />
      ) : decides === null ? (
        problem === null ? (
          <Loading rows={2} what={t("loading")} />
        ) : (
          <LoadError problem={problem} retry={() => void loadChanges()} />
        )
      ) : (
        <div className="account">
          <Waiting />
          <Decided />
        </div>
      )}
    </>
  );
}

function Waiting() {
  const waiting = useChanges().value ?? [];
  const [result, setResult] = useState<Result | null>(null);
  return (
    <section className="card whole-row" aria-label={t("waiting")}>
      <h2>{t("waiting")}</h2>
      {result instanceof Problem ? (
        <Note kind="bad" title={result.message} />
      ) : (
        result !== null && (
          <Note
            kind="good"
            title={t(result.status === "denied" ? "done.denied" : "done.approved")}
          />
        )
      )}
      {waiting.length === 0 && <p className="muted">{t("none")}</p>}
      <ul className="asked" aria-label={t("waiting")}>
        {waiting.map((one, place) => (
          <Change key={one.id} change={one} open={place < UNFOLDED} onResult={setResult} />
        ))}
      </ul>
    </section>
  );
}

/** What is asked for: “Publish version 2 of petty-cash, which is laxer at a gate”. */
function Asked({ change: { act, what, asked } }: { change: GatedChange }) {
  const version = String(asked["version"] ?? "");
  if (act === "policy_off") return <>{t("act.policy_off")}</>;
  if (act === "action_rule") {
    const agent = String((asked["rule"] as { agent?: string }).agent ?? "");
    const named = { what: <Label text={what} maxLength={80} />, agent: <Label text={agent} /> };
    return <>{t("act.action_rule", named)}</>;
  }
  const label = <Label text={what} maxLength={80} />;
  const named =
    asked["server"] === undefined ? (
      <a href={linkTo(act === "go_live" ? "connectors" : "templates", what)}>{label}</a>
    ) : (
      label
    );
  return act === "go_live" ? (
    <>{t("act.go_live", { what: named })}</>
  ) : (
    <>{t("act.publish_laxer", { what: named, version })}</>
  );
}

function Change({
  change,
  open,
  onResult,
}: {
  change: GatedChange;
  open: boolean;
  onResult: (result: Result) => void;
}) {
  const [shown, setShown] = useState(open);
  const [word, setWord] = useState<Word | null>(null);
  const who = <PersonName by={change.by} kind={change.by_kind} />;
  const until = formatTime(change.expires_at);
  return (
    <li>
      <h3>
        <Asked change={change} />
      </h3>
      <p className="muted small">{t("asked", { who, when: <TimeAgo at={change.at} />, until })}</p>
      <details open={shown} onToggle={(event) => setShown(event.currentTarget.open)}>
        <summary>{t("whatChanges")}</summary>
        {shown && <Shown change={change} />}
      </details>
      {change.why_not !== null ? (
        <p className="muted">{t.code("whyNot", change.why_not)}</p>
      ) : (
        <div className="actions">
          <button type="button" className="button primary" onClick={() => setWord("approve")}>
            {t("approve")}
          </button>
          <button type="button" className="button danger-quiet" onClick={() => setWord("deny")}>
            {t("deny")}
          </button>
        </div>
      )}
      {word !== null && (
        <Decision change={change} word={word} onNo={() => setWord(null)} onResult={onResult} />
      )}
    </li>
  );
}

function Shown({ change }: { change: GatedChange }) {
  const { company } = useAccount();
  const { value, problem, reload } = useLoad(`change ${change.id}`, () =>
    whatChanges(change, company.id),
  );
  if (value === null)
    return problem === null ? (
      <Loading rows={1} what={t("loadingChange")} />
    ) : (
      <LoadError problem={problem} retry={reload} />
    );
  const { fields, steps, secret, draft } = value;
  if (draft?.stale === true) return <Note kind="warn" title={t("draftChanged")} />;
  return (
    <>
      {fields.length + steps.length === 0 && !secret && <p className="muted">{t("sameNow")}</p>}
      {fields.length > 0 && <Differences fields={fields} />}
      {steps.length > 0 && <StepDifferences steps={steps} />}
      {secret && (
        <dl className="differences">
          <div>
            <dt>{t("secretField")}</dt>
            <dd>{t("secretNew")}</dd>
          </div>
        </dl>
      )}
      {draft !== null && (
        <a
          href={`${linkTo("templates", change.what, "compare")}?from=${draft.from}&to=draft`}
          className="small"
        >
          {t("besides")}
        </a>
      )}
    </>
  );
}

function Decision({
  change,
  word,
  onNo,
  onResult,
}: {
  change: GatedChange;
  word: Word;
  onNo: () => void;
  onResult: (result: Result) => void;
}) {
  const { company } = useAccount();
  const [comment, setComment] = useState("");
  const [key] = useState(newIdempotencyKey);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const decide = async () => {
    setBusy(true);
    setProblem(null);
    const said = comment.trim() === "" ? {} : { comment };
    try {
      const path = `${changesPath(company.id)}${change.id}/${word}`;
      onResult(await post<GatedChange>(path, { digest: change.digest, ...said }, key));
      void loadChanges();
    } catch (error) {
      const refused = toProblem(error);
      setProblem(refused);
      setBusy(false);
      if (!TOO_LATE.has(refused.status)) return;
      onResult(refused);
      onNo();
      void loadChanges();
    }
  };
  return (
    <Dialog
      title={t(word === "approve" ? "approveAsk" : "denyAsk")}
      yes={t(word)}
      danger={word === "deny"}
      busy={busy}
      onNo={onNo}
      onYes={() => void decide()}
    >
      <p>
        <Asked change={change} />
      </p>
      <p className="muted small">{t(word === "approve" ? "approveHint" : "denyHint")}</p>
      <Shown change={change} />
      <FormProblem problem={problem} />
      <Field label={t("comment")} rows={2} value={comment} onChange={setComment} />
    </Dialog>
  );
}

function Decided() {
  const waiting = useChanges().value;
  const list = useCursorList<GatedChange>(changesPath(useAccount().company.id));
  const { reload } = list;
  const seen = useRef(waiting);
  useEffect(() => {
    if (seen.current !== waiting) reload();
    seen.current = waiting;
  }, [waiting, reload]);
  const rows = list.rows.filter((one) => one.status !== "open");
  return (
    <section className="card whole-row" aria-label={t("decided")}>
      <h2>{t("decided")}</h2>
      {!list.loaded ? (
        list.problem === null ? (
          <Loading rows={1} what={t("loadingDecided")} />
        ) : (
          <LoadError problem={list.problem} retry={reload} />
        )
      ) : (
        rows.length === 0 && <p className="muted">{t("noneDecided")}</p>
      )}
      <ul className="asked" aria-label={t("decided")}>
        {rows.map((one) => (
          <li key={one.id}>
            <p>
              <Asked change={one} />
            </p>
            <p className="muted small">
              {t("askedBy", { who: <PersonName by={one.by} kind={one.by_kind} /> })}
              {" · "}
              <Became change={one} />
            </p>
            {one.comment !== null && (
              <blockquote>
                <Text text={one.comment} />
              </blockquote>
            )}
          </li>
        ))}
      </ul>
      {list.more && (
        <button type="button" className="button" onClick={list.loadMore}>
          {t("earlier")}
        </button>
      )}
    </section>
  );
}

function Became({ change }: { change: GatedChange }) {
  if (change.status === "expired")
    return <>{t("became.expired", { when: <TimeAgo at={change.expires_at} /> })}</>;
  const how = { approved: "became.approved", denied: "became.denied", stale: "became.stale" };
  const key = how[change.status as keyof typeof how] as "became.approved";
  const who = <PersonName by={change.decided_by ?? ""} />;
  return <>{t(key, { who, when: <TimeAgo at={change.decided_at ?? change.at} /> })}</>;
}
