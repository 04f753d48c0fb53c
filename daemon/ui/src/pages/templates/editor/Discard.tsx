/** Throw the draft away, after a question; what is published stays. */

import { useState } from "react";
import { type Problem, send, toProblem } from "../../../api/client";
import { Dialog } from "../../../components/Dialog";
import { Note } from "../../../components/Feedback";
import { linkTo, navigate } from "../../../state/router";
import { type Editing, pathOf } from "./draft/useDraft";
import { editor as t } from "../../../text/en/editor";

export function Discard({ editing }: { editing: Editing }) {
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { draft, etag, save } = editing;
  if (draft === null || etag === null) return null;
  const discard = () => {
    send("DELETE", pathOf(draft.vertical, "draft"), { seen: etag }).then(
      () => navigate(linkTo("templates")),
      (error: unknown) => setProblem(toProblem(error)),
    );
  };
  return (
    <p className="actions">
      <button
        type="button"
        className="button danger"
        disabled={save !== "saved"}
        onClick={() => {
          setProblem(null);
          setAsking(true);
        }}
      >
        {t("discardDraft")}
      </button>
      {asking && (
        <Dialog
          title={t("discardAsk")}
          yes={t("discard")}
          danger
          onYes={discard}
          onNo={() => setAsking(false)}
        >
          <p>{t("discardHint")}</p>
          {problem !== null && <Note kind="bad" title={problem.message} />}
        </Dialog>
      )}
    </p>
  );
}
