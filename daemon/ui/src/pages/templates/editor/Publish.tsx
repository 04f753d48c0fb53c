/** Make the draft a version, after a question, and say what that means for runs. */

import { useState } from "react";
import { newIdempotencyKey, type Problem, send, toProblem } from "../../../api/client";
import { clearCache } from "../../../api/resources";
import type { PublishedVersion } from "../../../api/types";
import { Dialog } from "../../../components/Dialog";
import { Note } from "../../../components/Feedback";
import { Label } from "../../../components/Text";
import { linkTo } from "../../../state/router";
import { useAccount } from "../../../state/session";
import { isAtLeast } from "../../../text/labels";
import { type Editing, pathOf } from "./draft/useDraft";
import { common } from "../../../text/en/common";
import { editor as t } from "../../../text/en/editor";

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
          {problem !== null && <Note kind="bad" title={problem.message} />}
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
