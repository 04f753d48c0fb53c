/** The call that an agent wants to make: in words, with its arguments, and what the agent says. */

import { useState } from "react";
import { equal, ExactNumber, isObject, prettyPrint } from "../../api/json";
import { get, post, type Problem, toProblem } from "../../api/client";
import type { Action, EarlierCall, Gate, GateAction, OpenGate, Run } from "../../api/types";
import { FormProblem } from "../../components/FieldErrors";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { PersonName } from "../../components/record/PersonName";
import { Label, Text } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { ValueTable } from "../../components/ValueTable";
import { linkTo } from "../../state/router";
import { useLoad } from "../../state/useLoad";
import { formatNumber, numberText } from "../../text/formats";
import { humanize, statusLabel } from "../../text/labels";
import { actions as t } from "../../text/en/actions";
import { outcomeText, whyText } from "../actions/words";
import { DataTable } from "../dashboard/DataTable";

const SCALE = 1_000_000;
/** From which part on a budget is nearly spent. */
const NEAR = 0.8;
const NEARLY_ALL = 0.999;
const DEPTH_MAX = 4;
const ROWS_MAX = 100;

export function ActionAsked({ run, gate, action }: { run: Run; gate: Gate; action: GateAction }) {
  const path = `/process-runs/${run.id}/gates/${encodeURIComponent(gate.step_id)}`;
  const open = useLoad(`earlier ${path} ${gate.digest}`, () => get<OpenGate>(path));
  return (
    <>
      <Wanted gate={gate} action={action} />
      <Arguments run={run} action={action} />
      <Spent action={action} />
      <AgentWord action={action} />
      <Questions path={path} gate={gate} may={open.value?.can_decide === true} way={action.way} />
      <Earlier calls={open.value?.earlier ?? []} />
    </>
  );
}

/** What it will do, by which rule. */
function Wanted({ gate, action }: { gate: Gate; action: GateAction }) {
  const { rule, way, why, changed } = action;
  const dry = gate.effects.some((call) => call.mode === "shadow");
  const agent =
    action.model === null ? (
      <Label text={action.agent} />
    ) : (
      <Label text={`${action.agent} (${action.model})`} />
    );
  return (
    <section className="card" aria-label={t("wanted")}>
      <h2>{t("wanted")}</h2>
      <p>
        {t("wants", {
          agent: <strong>{agent}</strong>,
          tool: (
            <code>
              <Label text={action.tool} />
            </code>
          ),
        })}
      </p>
      <p>
        {dry
          ? t("way.dry")
          : way === "mcp"
            ? t("way.mcp", { server: <Label text={action.server ?? ""} /> })
            : way === "aap"
              ? t("way.aap")
              : t("way.penstock")}
      </p>
      <p className="muted">
        {rule.id === "unruled" ? (
          t("noRule")
        ) : (
          <>
            <a href="#/actions/rules">
              {t("triedBy", { rule: <Label text={rule.id} />, version: rule.version })}
            </a>
            {why !== null && (
              <>
                {" · "}
                <Label text={whyText(why)} maxLength={300} />
              </>
            )}
          </>
        )}
      </p>
      {changed !== null && (
        <Note kind="warn" title={t("changedSince")}>
          <p>
            <Label text={changed} maxLength={300} />
          </p>
        </Note>
      )}
    </section>
  );
}

/** The arguments, with what is otherwise than in the last call of that tool that was made. */
function Arguments({ run, action }: { run: Run; action: GateAction }) {
  const asked = new URLSearchParams({ tool: action.tool, outcome: "made", limit: "1" });
  if (action.server !== null) asked.set("server", action.server);
  const { value } = useLoad(`made ${asked} ${run.id}`, () => get<Action[]>(`/actions/?${asked}`));
  const last = value?.[0];
  const before = last === undefined ? null : flat(last.made ?? last.arguments);
  const now = flat(action.arguments);
  const wanted = action.asked === null ? null : flat(action.asked);
  const names = [
    ...new Set([...now.keys(), ...(before?.keys() ?? []), ...(wanted?.keys() ?? [])]),
  ].slice(0, ROWS_MAX);
  return (
    <section className="card">
      <h2>{t("arguments")}</h2>
      {last !== undefined && (
        <p className="muted small">
          {t("lastCall", { when: <TimeAgo at={last.created_at} /> })}{" "}
          <a href={linkTo("runs", last.id)}>{t("showIt")}</a>
        </p>
      )}
      {value !== null && last === undefined && <p className="muted small">{t("firstCall")}</p>}
      {names.length === 0 ? (
        <p className="muted">{t("noArguments")}</p>
      ) : (
        <DataTable
          caption={t("arguments")}
          head={[
            t("argument"),
            t("now"),
            ...(wanted === null ? [] : [t("askedFor")]),
            ...(before === null ? [] : [t("before")]),
          ]}
          rows={names.map((name) => {
            const differs = before !== null && !equal(before.get(name), now.get(name));
            return [
              <Label key="name" text={name} />,
              differs && now.has(name) ? (
                <ins key="now">
                  <Cell value={now.get(name)} />
                </ins>
              ) : (
                <Cell key="now" value={now.get(name)} />
              ),
              ...(wanted === null ? [] : [<Cell key="asked" value={wanted.get(name)} />]),
              ...(before === null
                ? []
                : [
                    differs && before.has(name) ? (
                      <del key="before">
                        <Cell value={before.get(name)} />
                      </del>
                    ) : (
                      <Cell key="before" value={before.get(name)} />
                    ),
                  ]),
            ];
          })}
        />
      )}
    </section>
  );
}

/** Each value by its path: of objects their members, of anything else itself. */
function flat(values: object, at = "", depth = 0): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [name, value] of Object.entries(values)) {
    const here = at === "" ? name : `${at}.${name}`;
    if (isObject(value) && depth < DEPTH_MAX && Object.keys(value).length > 0)
      for (const [path, one] of flat(value, here, depth + 1)) found.set(path, one);
    else found.set(here, value);
  }
  return found;
}

function Cell({ value }: { value: unknown }) {
  if (value === undefined) return <span className="muted">{t("notThere")}</span>;
  if (typeof value === "string") return <Text text={value} />;
  if (typeof value === "number" || value instanceof ExactNumber)
    return <>{numberText(value instanceof ExactNumber ? value.text : String(value))}</>;
  return (
    <code>
      <Text text={prettyPrint(value)} />
    </code>
  );
}

/** What the agent spent of the budget of its rule, and what this call takes. */
function Spent({ action: { spent, amount } }: { action: GateAction }) {
  if (spent === null) return null;
  const { count = 0, sum: before = 0, max = null } = spent;
  const [sum, most] = [before / SCALE, max === null ? null : max / SCALE];
  const takes = amount === null ? null : amount / SCALE;
  return (
    <section className="card" aria-label={t("budget")}>
      <h2>{t("budget")}</h2>
      {most !== null && (
        <meter
          className="budget"
          aria-label={t("budget")}
          max={most}
          low={most * NEAR}
          high={most * NEARLY_ALL}
          optimum={0}
          value={Math.min(most, sum + (takes ?? 0))}
        />
      )}
      <p>
        {most === null
          ? t("spent", { sum: formatNumber(sum), count })
          : t("spentOf", { sum: formatNumber(sum), most: formatNumber(most), count })}
      </p>
      <p>
        {takes === null
          ? t("takesUnclear")
          : most !== null && sum + takes > most
            ? t("takesOver", { amount: formatNumber(takes) })
            : t("takes", { amount: formatNumber(takes) })}
      </p>
    </section>
  );
}

/** What the agent says: a quotation, which nobody has checked. */
function AgentWord({ action: { reasoning, context } }: { action: GateAction }) {
  if (reasoning === null && context === null) return null;
  return (
    <section className="card agent-word" aria-label={t("agentSays")}>
      <h2>{t("agentSays")}</h2>
      <p className="muted small">{t("agentSaysHint")}</p>
      {reasoning !== null && (
        <blockquote>
          <Text text={reasoning} />
        </blockquote>
      )}
      {context !== null && <ValueTable values={context} />}
    </section>
  );
}

/** What people asked the agent, its answers, and the next question. */
function Questions({
  path,
  gate,
  may,
  way,
}: {
  path: string;
  gate: Gate;
  may: boolean;
  way: string;
}) {
  const [text, setText] = useState("");
  const [state, setState] = useState<"" | "busy" | Problem>("");
  const asks = may && way !== "aap";
  if (gate.questions.length === 0 && !asks) return null;
  const ask = () => {
    setState("busy");
    post(`${path}/questions`, { to: "agent", text: text.trim() }).then(
      () => {
        setText("");
        setState("");
      },
      (error: unknown) => setState(toProblem(error)),
    );
  };
  return (
    <section className="card agent-word" aria-label={t("questions")}>
      <h2>{t("questions")}</h2>
      {gate.questions.map((one) => (
        <div key={one.id} className="gap">
          <p>
            <PersonName by={one.by} />: <Text text={one.text} />
          </p>
          {one.answer === null ? (
            <p className="muted">{t("notAnswered")}</p>
          ) : (
            <blockquote>
              <Text text={one.answer} />
            </blockquote>
          )}
        </div>
      ))}
      {asks && (
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim() !== "" && state !== "busy") ask();
          }}
        >
          <FormProblem problem={typeof state === "object" ? state : null} />
          <Field
            label={t("askAgent")}
            hint={t("askHint")}
            rows={2}
            value={text}
            onChange={setText}
          />
          <button type="submit" className="button" disabled={state === "busy"}>
            {t("ask")}
          </button>
        </form>
      )}
    </section>
  );
}

/** What the agent wanted before in the same context. */
function Earlier({ calls }: { calls: readonly EarlierCall[] }) {
  if (calls.length === 0) return null;
  return (
    <section className="card" aria-label={t("earlier")}>
      <h2>{t("earlier")}</h2>
      <ul className="steps-list">
        {calls.map((call) => (
          <li key={call.id}>
            <a href={linkTo("runs", call.id)}>
              <Label text={call.tool} maxLength={120} />
            </a>{" "}
            <span className="muted">
              {call.outcome === null ? earlierStatus(call.status) : outcomeText(call.outcome)} ·{" "}
              <TimeAgo at={call.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function earlierStatus(status: string): string {
  return statusLabel(status as Run["status"]) || humanize(status);
}
