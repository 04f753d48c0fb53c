/** Ways to begin a process of one's own: by a title, from words, from BPMN; and what is begun. */

import { type ChangeEvent, useState } from "react";
import { getAll, post, type Problem, send, toProblem } from "../../api/client";
import type { DraftedGraph, DraftEntry, ImportedGraph } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { Icon } from "../../components/Icon";
import { PersonName } from "../../components/record/PersonName";
import { Label } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { linkTo, navigate, useRoute } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { isAtLeast } from "../../text/labels";
import { slugOf } from "./editor/draft/document";
import { keepImported } from "./editor/draft/imported";
import { pathOf } from "./editor/draft/useDraft";
import { savesSettled } from "./editor/draft/useSaving";
import { templates as t } from "../../text/en/templates";

const ORIGINS = ["title", "text", "bpmn"] as const;
type Origin = (typeof ORIGINS)[number];

export function NewProcess() {
  const { role } = useAccount();
  const { query } = useRoute();
  const [asking, setAsking] = useState(query.get("new") !== null);
  if (!isAtLeast(role, "member")) return null;
  return (
    <>
      <p className="gap">
        <button type="button" className="button" onClick={() => setAsking(true)}>
          <Icon name="plus" size={16} /> {t("newProcess")}
        </button>
      </p>
      {asking && <Begin onClose={() => setAsking(false)} />}
      <Drafts />
    </>
  );
}

function Drafts() {
  const { value } = useLoad("drafts", async () => {
    await savesSettled();
    return getAll<DraftEntry>("/template-drafts/?limit=200", 1_000);
  });
  if (value === null || value.length === 0) return null;
  return (
    <section className="card drafts" aria-label={t("drafts")}>
      <h2>{t("drafts")}</h2>
      <ul className="steps-list">
        {value.map((draft) => (
          <li key={draft.vertical}>
            <a href={linkTo("templates", draft.vertical, "edit")}>
              <Label text={draft.title} />
            </a>{" "}
            <small className="muted">
              <PersonName by={draft.saved_by} />, <TimeAgo at={draft.saved_at} />
            </small>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Begin({ onClose }: { onClose: () => void }) {
  const [origin, setOrigin] = useState<Origin>("title");
  const [title, setTitle] = useState("");
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const vertical = slugOf(title);

  async function begin() {
    if (title.trim() === "" || busy) return;
    setBusy(true);
    setProblem(null);
    try {
      const found = await document();
      if (found !== null) {
        const { version: _version, ...rest } = found;
        const body = { ...rest, vertical, title: title.trim() };
        await send("PUT", pathOf(vertical, "draft"), { body });
      }
      navigate(
        `${linkTo("templates", vertical, "edit")}?title=${encodeURIComponent(title.trim())}`,
      );
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  }

  /** What the draft begins with; null for a process of one gate. */
  async function document(): Promise<Record<string, unknown> | null> {
    if (origin === "text")
      return (await post<DraftedGraph>("/process-templates/draft-from-text", { text })).document;
    if (origin === "bpmn") {
      const found = await post<ImportedGraph>("/process-templates/import-bpmn", { xml: text });
      keepImported(vertical, found.violations);
      return found.document;
    }
    return null;
  }

  const read = (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    if (file !== undefined) void file.text().then(setText);
  };
  return (
    <Dialog
      title={t("newProcess")}
      yes={busy ? t("beginning") : t("begin")}
      busy={busy}
      onYes={() => void begin()}
      onNo={onClose}
    >
      <Field label={t("title")} value={title} onChange={setTitle} required />
      <Field
        label={t("beginWith")}
        value={origin}
        options={ORIGINS.map((one) => ({ value: one, name: t(`origin.${one}`) }))}
        onChange={(value) => setOrigin(value as Origin)}
        required
      />
      {origin === "text" && (
        <Field label={t("whatHappens")} rows={5} value={text} onChange={setText} required />
      )}
      {origin === "bpmn" && (
        <div className="field">
          <label htmlFor="bpmn-file">{t("bpmnFile")}</label>
          <input id="bpmn-file" type="file" accept=".bpmn,.xml" onChange={read} />
        </div>
      )}
      {title.trim() !== "" && (
        <p className="muted">{t("called", { vertical: <code>{vertical}</code> })}</p>
      )}
      {problem !== null && <Note kind="bad" title={problem.message} />}
    </Dialog>
  );
}
