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
import { countOf } from "../../../text/sentences";
import { type Editing, pathOf } from "./draft/useDraft";

export function Publish({ editing }: { editing: Editing }) {
  const { role } = useAccount();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState<PublishedVersion | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [key, setKey] = useState(newIdempotencyKey);
  const { draft, check, etag } = editing;
  if (draft === null) return null;
  if (!isAtLeast(role, "admin"))
    return <small className="muted">An admin publishes the draft.</small>;
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
        Publish
      </button>
      {asking && done === null && (
        <Dialog
          title="Publish this draft?"
          yes={busy ? "Publishing…" : "Publish"}
          busy={busy}
          onYes={() => void publish()}
          onNo={() => setAsking(false)}
        >
          <p>Runs that start from now on follow it. Runs in flight keep their version.</p>
          {problem !== null && <Note kind="bad" title={problem.message} />}
        </Dialog>
      )}
      {asking && done !== null && (
        <Dialog
          title={`Version ${done.version} is published`}
          yes="Start a run"
          no="Close"
          onYes={() => (location.hash = linkTo("templates", done.vertical))}
          onNo={() => setAsking(false)}
        >
          {done.gates_removed.length > 0 && (
            <p>
              Gates that the version before had: <Label text={done.gates_removed.join(", ")} />.
            </p>
          )}
          <p>
            {done.runs_affected.length === 0
              ? "No run in flight would go another way by it."
              : `${countOf(done.runs_affected.length, "run")} in flight would go another way by it, and keep the version that they have.`}
          </p>
        </Dialog>
      )}
    </>
  );
}
