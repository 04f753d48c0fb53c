/** Make the draft a version, after a question, and say what that means for runs. */

import { useState } from "react";
import {
  get,
  getAll,
  newIdempotencyKey,
  post,
  type Problem,
  send,
  toProblem,
} from "../../../api/client";
import { clearCache } from "../../../api/resources";
import type { Group, Policy, PublishedVersion, TemplateCheck } from "../../../api/types";
import { Dialog } from "../../../components/Dialog";
import { Note } from "../../../components/Feedback";
import { FormProblem } from "../../../components/FieldErrors";
import { Label, plainText } from "../../../components/Text";
import { useMembers } from "../../../state/members";
import { linkTo } from "../../../state/router";
import { useAccount } from "../../../state/session";
import { useLoad } from "../../../state/useLoad";
import { formatList } from "../../../text/formats";
import { isAtLeast } from "../../../text/labels";
import type { Draft } from "./draft/document";
import { type Editing, pathOf } from "./draft/useDraft";
import { common } from "../../../text/en/common";
import { editor as t } from "../../../text/en/editor";

const GROUPS_MAX = 500;

export function Publish({ editing }: { editing: Editing }) {
  const { role } = useAccount();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState<PublishedVersion | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [key, setKey] = useState(newIdempotencyKey);
  const { draft, check, etag } = editing;
  if (draft === null) return null;
  if (!isAtLeast(role, "admin")) return <small className="muted">{t("adminPublishes")}</small>;
  const ready =
    check?.valid === true &&
    editing.save === "saved" &&
    etag !== null &&
    editing.malformed === null;
  const publish = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const options = { body: {}, key, ...(etag === null ? {} : { seen: etag }) };
      const path = pathOf(draft.vertical, "publish");
      setDone((await send<PublishedVersion>("POST", path, options)).value);
      setKey(newIdempotencyKey());
      clearCache();
      editing.reload();
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
  };
  return (
    <>
      <button
        type="button"
        className="button primary"
        disabled={!ready}
        onClick={() => {
          setDone(null);
          setAsking(true);
        }}
      >
        {t("publish")}
      </button>
      {asking && done === null && (
        <Dialog
          title={t("publishAsk")}
          yes={busy ? t("publishing") : t("publish")}
          busy={busy}
          onYes={() => void publish()}
          onNo={() => setAsking(false)}
        >
          <p>{t("publishHint")}</p>
          <EmptyGroups draft={draft} />
          <AsksLess editing={editing} draft={draft} />
          <FormProblem problem={problem} />
        </Dialog>
      )}
      {asking && done !== null && (
        <Dialog
          title={t("published", { version: done.version })}
          yes={t("startRun")}
          no={common("close")}
          onYes={() => (location.hash = linkTo("templates", done.vertical))}
          onNo={() => setAsking(false)}
        >
          {done.gates_removed.length > 0 && (
            <p>{t("gatesRemoved", { gates: <Label text={done.gates_removed.join(", ")} /> })}</p>
          )}
          <p>
            {done.runs_affected.length === 0
              ? t("noRunAffected")
              : t("runsAffected", { count: done.runs_affected.length })}
          </p>
        </Dialog>
      )}
    </>
  );
}

/** Gates of the draft at which nobody may decide, as their groups have no members. */
function EmptyGroups({ draft }: { draft: Draft }) {
  const path = `/companies/${encodeURIComponent(useAccount().company.id)}/groups?limit=200`;
  const { value } = useLoad(path, () => getAll<Group>(path, GROUPS_MAX));
  if (value === null) return null;
  const filled = new Set(value.flatMap((one) => (one.members.length > 0 ? [one.name] : [])));
  return draft.steps.map((step) => {
    const groups = Array.isArray(step.groups) ? step.groups.map(String) : [];
    if (groups.length === 0 || groups.some((one) => filled.has(one))) return null;
    const said = { step: step.label, groups: formatList(groups) };
    return <Note key={step.id} kind="warn" title={plainText(t("groupsEmpty", said))} />;
  });
}

/** Gates that ask less than before, what that keeps the publisher from, and whether it waits. */
function AsksLess({ editing, draft }: { editing: Editing; draft: Draft }) {
  // Others may have published since the draft was checked.
  const asked = useLoad(`what ${editing.etag} makes laxer`, () =>
    post<TemplateCheck>("/process-templates/validate", draft),
  );
  const check = asked.value ?? editing.check;
  const alone = useAlone();
  if (check === null || check.loosened.length === 0) return null;
  const before = [...(check.canvas?.nodes ?? []), ...(editing.published?.steps ?? [])];
  const named = (isGate: boolean) =>
    check.loosened
      .filter((one) => check.gates.includes(one.step_id) === isGate)
      .map((one) => before.find((step) => step.id === one.step_id)?.label ?? one.step_id)
      .map((label) => t("quoted", { label }));
  const [laxer, gone] = [named(true), named(false)];
  return (
    <Note
      kind="warn"
      title={[
        ...(laxer.length > 0 ? [t("asksLess", { gates: formatList(laxer) })] : []),
        ...(gone.length > 0 ? [t("noGate", { gates: formatList(gone, "disjunction") })] : []),
      ].join(" ")}
    >
      {laxer.length > 0 && <p>{t(alone ? "decidesAlone" : "isBarred")}</p>}
      {check.awaits_approval && <p>{t("awaitsApproval")}</p>}
    </Note>
  );
}

/** Whether the reader is the only person of the company, and decides alone. */
function useAlone(): boolean {
  const path = `/companies/${encodeURIComponent(useAccount().company.id)}/policy`;
  const policy = useLoad(path, () => get<Policy>(path)).value;
  const active = useMembers().value?.filter((one) => one.status === "active");
  return policy?.solo === true && active?.length === 1;
}
