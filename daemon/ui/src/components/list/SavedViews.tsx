/** The reader's saved views of a list: to open, to save what is shown now, and to forget. */

import { useId, useState } from "react";
import { toProblem } from "../../api/client";
import { forgetView, saveView, useSavedViews, type ViewList } from "../../state/savedViews";
import { Dialog } from "../Dialog";
import { Icon } from "../Icon";
import { Label } from "../Text";
import { common as t } from "../../text/en/common";

const NAME_MAX = 80;

export function SavedViews({ list, base, query }: { list: ViewList; base: string; query: string }) {
  const { value, reload } = useSavedViews(list);
  const [naming, setNaming] = useState(false);
  const [failed, setFailed] = useState("");
  const views = value ?? [];
  const run = (work: Promise<void>) =>
    work.then(
      () => {
        setFailed("");
        reload();
      },
      (error: unknown) => setFailed(toProblem(error).message),
    );
  const isKnown = views.some((view) => view.query === query);
  if (views.length === 0 && query === "") return null;
  return (
    <div className="views">
      {views.length > 0 && (
        <ul aria-label={t("savedViews")}>
          {views.map((view) => (
            <li key={view.name} className={view.query === query ? "view current" : "view"}>
              <a
                href={`${base}?${view.query}`}
                {...(view.query === query ? { "aria-current": "true" as const } : {})}
              >
                <Label text={view.name} maxLength={40} />
              </a>
              <button
                type="button"
                aria-label={t("forgetView", { name: view.name })}
                onClick={() => void run(forgetView(list, view.name))}
              >
                <Icon name="close" size={14} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {query !== "" && !isKnown && (
        <button type="button" className="link" onClick={() => setNaming(true)}>
          {t("saveView")}
        </button>
      )}
      {failed !== "" && <p role="alert">{failed}</p>}
      {naming && (
        <NameDialog
          onNo={() => setNaming(false)}
          onName={(name) => {
            setNaming(false);
            void run(saveView(list, name, query));
          }}
        />
      )}
    </div>
  );
}

function NameDialog({ onName, onNo }: { onName: (name: string) => void; onNo: () => void }) {
  const id = useId();
  const [name, setName] = useState("");
  const wanted = name.trim();
  return (
    <Dialog
      title={t("saveView")}
      yes={t("save")}
      onYes={() => {
        if (wanted !== "") onName(wanted);
      }}
      onNo={onNo}
    >
      <form
        className="field"
        onSubmit={(event) => {
          event.preventDefault();
          if (wanted !== "") onName(wanted);
        }}
      >
        <label htmlFor={id}>{t("name")}</label>
        <input
          id={id}
          value={name}
          maxLength={NAME_MAX}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
        />
        <p className="hint">{t("onlyYou")}</p>
      </form>
    </Dialog>
  );
}
