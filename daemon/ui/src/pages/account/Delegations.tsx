/** Who may decide in one's place, and for whom one may. */

import { type FormEvent, useState } from "react";
import { getAll, newIdempotencyKey, post, type Problem, remove, toProblem } from "../../api/client";
import type { Delegation } from "../../api/types";
import { FormProblem } from "../../components/FieldErrors";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { Label } from "../../components/Text";
import { useMembers, useNames } from "../../state/members";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { formatDay } from "../../text/formats";
import { formatTime, mayDecide } from "../../text/labels";
import { account as t } from "../../text/en/account";

const DELEGATIONS_MAX = 200;

export function Delegations() {
  const { role, member_id } = useAccount();
  const { value, problem, reload } = useLoad("delegations", () =>
    getAll<Delegation>("/delegations?limit=200", DELEGATIONS_MAX),
  );
  const name = useMemberNames();
  const [failed, setFailed] = useState<Problem | null>(null);
  const act = (doing: Promise<unknown>) => {
    setFailed(null);
    doing.then(reload, (error: unknown) => setFailed(toProblem(error)));
  };
  const mine = (value ?? []).filter((one) => one.giver === member_id || one.to === member_id);
  if (!mayDecide(role, null)) return null;
  return (
    <section className="card">
      <h2>{t("delegations")}</h2>
      <p className="muted small gap">{t("delegationsHint")}</p>
      {failed !== null && <Note kind="bad" title={failed.message} />}
      {value === null ? (
        problem === null ? (
          <Loading rows={1} what={t("loadingDelegations")} />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : (
        <ul className="sessions" aria-label={t("delegations")}>
          {mine.map((one) => (
            <li key={one.id}>
              <div>
                <p>
                  <Label
                    text={
                      one.giver === member_id
                        ? t("decidesForYou", { to: name(one.to) })
                        : t("youDecideFor", { giver: name(one.giver) })
                    }
                  />
                </p>
                <p className="muted small">
                  {t("span", { from: formatTime(one.from), until: endText(one.until) })}
                  {one.verticals !== null && ` · ${one.verticals.join(", ")}`}
                </p>
              </div>
              {one.giver === member_id && (
                <button
                  type="button"
                  className="button"
                  onClick={() => act(remove(`/delegations/${one.id}`))}
                >
                  {t("endIt")}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      <DelegationForm onMade={reload} />
    </section>
  );
}

function DelegationForm({ onMade }: { onMade: () => void }) {
  const { member_id } = useAccount();
  const { value: members } = useMembers();
  const name = useMemberNames();
  const [to, setTo] = useState("");
  const [from, setFrom] = useState(() => day(Date.now()));
  const [until, setUntil] = useState(() => day(daysLater(new Date(), 7).getTime()));
  const [problem, setProblem] = useState<Problem | null>(null);
  const others = (members ?? []).filter(
    (one) => one.status === "active" && one.id !== member_id && mayDecide(one.role, null),
  );
  const make = (event: FormEvent) => {
    event.preventDefault();
    setProblem(null);
    const term = { from: startOf(from), until: startOf(until, 1) };
    post("/delegations", { to, ...term }, newIdempotencyKey()).then(onMade, (error: unknown) =>
      setProblem(toProblem(error)),
    );
  };
  return (
    <form onSubmit={make} noValidate>
      <FormProblem problem={problem} />
      <Field
        label={t("whoDecides")}
        value={to}
        onChange={setTo}
        options={[
          { value: "", name: t("choosePerson") },
          ...others.map((one) => ({ value: one.id, name: name(one.id) })),
        ]}
        error={problem?.fields.get("/to")}
        required
      />
      <Field
        label={t("from")}
        type="date"
        value={from}
        onChange={setFrom}
        error={problem?.fields.get("/from")}
        required
      />
      <Field
        label={t("toEnd")}
        type="date"
        value={until}
        onChange={setUntil}
        error={problem?.fields.get("/until")}
        required
      />
      <button type="submit" className="button primary">
        {t("delegate")}
      </button>
    </form>
  );
}

/** What to call a member by id. */
function useMemberNames(): (id: string) => string {
  const { value } = useMembers();
  const nameOf = useNames();
  return (id) => {
    const found = value?.find((one) => one.id === id);
    return found === undefined ? t("somebodyLeft") : nameOf(found.email);
  };
}

/** “the end of Nov 28” for midnight behind a day here; else the moment. */
function endText(until: string): string {
  const at = new Date(until);
  if (at.getHours() + at.getMinutes() + at.getSeconds() + at.getMilliseconds() > 0)
    return formatTime(until);
  return t("endOfDay", { day: formatDay(day(at.getTime() - 1)) });
}

/** The day of a moment here, as a date field has it. */
function day(at: number): string {
  const here = new Date(at);
  return new Date(at - here.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/** When a day begins here, or so many days later; what is no date stays as it is. */
function startOf(text: string, later = 0): string {
  const at = new Date(`${text}T00:00`);
  return Number.isNaN(at.getTime()) ? text : daysLater(at, later).toISOString();
}

/** The same time so many calendar days later: a day has 23 or 25 hours where clocks change. */
function daysLater(at: Date, count: number): Date {
  const later = new Date(at);
  later.setDate(later.getDate() + count);
  return later;
}
