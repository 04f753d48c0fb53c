/** The rules that decide about the calls of agents: how often each did, their editor, and a trial. */

import { type FormEvent, useState } from "react";
import { Problem, send, toProblem } from "../../api/client";
import type { ActionRules } from "../../api/types";
import { EmptyState, LoadError, Loading, Note } from "../../components/Feedback";
import { FormProblem } from "../../components/FieldErrors";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";
import { isAtLeast } from "../../text/labels";
import { actions as t } from "../../text/en/actions";
import { common } from "../../text/en/common";
import { DataTable, NumberLink } from "../dashboard/DataTable";
import { draftOf, newDraft, type RuleDraft, ruleOf } from "./ruleDraft";
import { RuleFields } from "./RuleFields";
import { TryBox } from "./TryBox";
import type { RulesLoaded, SeenRules } from "./useRules";

const STALE = 412;

export function RulesView({ rules }: { rules: RulesLoaded }) {
  const admin = isAtLeast(useAccount().role, "admin");
  const { value, problem, reload, set, path } = rules;
  if (value === null)
    return problem === null ? (
      <Loading rows={4} what={t("loadingRules")} />
    ) : (
      <LoadError problem={problem} retry={reload} />
    );
  return (
    <div className="action-rules">
      <section className="card">
        <h2>{t("rulesInOrder")}</h2>
        <p className="muted gap">{t("rulesHint")}</p>
        {value.rules.rules.length === 0 ? (
          <EmptyState icon="actions" title={t("noRules")} />
        ) : (
          <Hits rules={value.rules} />
        )}
        {value.rules.unruled > 0 && (
          <p className="small">
            <a href="#/actions?rule=unruled">{t("unruled", { count: value.rules.unruled })}</a>
          </p>
        )}
      </section>
      {admin ? (
        <>
          <TryBox path={path} />
          <RulesForm key={value.etag} path={path} seen={value} onStored={set} onStale={reload} />
        </>
      ) : (
        <Note kind="info" title={t("adminsChange")} />
      )}
    </div>
  );
}

function Hits({ rules }: { rules: ActionRules }) {
  return (
    <DataTable
      caption={t("rulesInOrder")}
      head={[
        t("field.id"),
        t("filter.tool"),
        t("filter.agent"),
        t("field.when"),
        t("field.decision"),
        t("hits"),
      ]}
      rows={rules.rules.map((rule) => [
        <Label key="id" text={rule.id} />,
        <Label key="tool" text={rule.tool} maxLength={80} />,
        <Label key="agent" text={rule.agent ?? "*"} maxLength={80} />,
        rule.when === null ? (
          ""
        ) : (
          <code key="when">{<Label text={rule.when} maxLength={200} />}</code>
        ),
        <span key="decision" className={`badge said-${rule.decision}`}>
          {t(`decision.${rule.decision}`)}
        </span>,
        <NumberLink
          key="hits"
          value={rule.hits.allow + rule.hits.ask + rule.hits.deny}
          to={`#/actions?rule=${encodeURIComponent(rule.id)}`}
        />,
      ])}
    />
  );
}

function RulesForm({
  path,
  seen,
  onStored,
  onStale,
}: {
  path: string;
  seen: SeenRules;
  onStored: (rules: SeenRules) => void;
  onStale: () => void;
}) {
  const [drafts, setDrafts] = useState<RuleDraft[]>(() => seen.rules.rules.map(draftOf));
  const [state, setState] = useState<"" | "busy" | Problem>("");
  const problem = state instanceof Problem ? state : null;
  const move = (at: number, to: number) => {
    const next = [...drafts];
    const [moved] = next.splice(at, 1);
    if (moved !== undefined) next.splice(to, 0, moved);
    setDrafts(next);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (state === "busy") return;
    setState("busy");
    const body = { rules: drafts.map(ruleOf) };
    send<ActionRules>("PUT", path, { body, seen: seen.etag }).then(
      ({ value, etag }) => {
        setState("");
        onStored({ rules: value, etag: etag ?? "" });
      },
      (error: unknown) => setState(toProblem(error)),
    );
  };
  return (
    <form className="card" onSubmit={submit} noValidate aria-label={t("editRules")}>
      <h2>{t("editRules")}</h2>
      {problem?.status === STALE ? (
        <Note kind="warn" title={t("changedMeanwhile")}>
          <button type="button" className="button" onClick={onStale}>
            {t("showCurrent")}
          </button>
        </Note>
      ) : (
        <FormProblem problem={problem} />
      )}
      {drafts.map((draft, at) => (
        <details key={draft.key} className="rule" open={draft.fresh || problem !== null}>
          <summary>
            {at + 1}. <Label text={draft.id === "" ? t("newRule") : draft.id} />
          </summary>
          <RuleFields
            draft={draft}
            errors={errorsOf(problem, at)}
            onChange={(next) =>
              setDrafts(drafts.map((one) => (one.key === draft.key ? next : one)))
            }
          />
          <p className="actions">
            <button
              type="button"
              className="button"
              disabled={at === 0}
              onClick={() => move(at, at - 1)}
            >
              {t("up")}
            </button>
            <button
              type="button"
              className="button"
              disabled={at === drafts.length - 1}
              onClick={() => move(at, at + 1)}
            >
              {t("down")}
            </button>
            <button
              type="button"
              className="button danger-quiet"
              onClick={() => setDrafts(drafts.filter((one) => one.key !== draft.key))}
            >
              {t("removeRule")}
            </button>
          </p>
        </details>
      ))}
      <p className="actions">
        <button type="button" className="button" onClick={() => setDrafts([...drafts, newDraft()])}>
          {t("addRule")}
        </button>
        <button type="submit" className="button primary" disabled={state === "busy"}>
          {common("save")}
        </button>
      </p>
    </form>
  );
}

/** What is wrong with a rule, by the name of its member. */
function errorsOf(problem: Problem | null, at: number): Map<string, string> {
  const found = new Map<string, string>();
  for (const [pointer, error] of problem?.fields ?? []) {
    const [, , place, name] = pointer.split("/");
    if (place === String(at) && name !== undefined && !found.has(name)) found.set(name, error);
  }
  return found;
}
