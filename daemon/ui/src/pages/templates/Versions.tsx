/** The versions of a template: who published which, and which start no run any more. */

import { useState } from "react";
import { getAll, newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import { clearCache } from "../../api/resources";
import type { TemplateVersion } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { DownloadButton } from "../../components/DownloadButton";
import { Loading, Note } from "../../components/Feedback";
import { PersonName } from "../../components/record/PersonName";
import { TimeAgo } from "../../components/Time";
import { linkTo } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { isAtLeast } from "../../text/labels";
import { pathOf } from "./editor/draft/useDraft";
import { templates as t } from "../../text/en/templates";

export function Versions({ vertical }: { vertical: string }) {
  const { role } = useAccount();
  const { value, reload } = useLoad(`versions ${vertical}`, () =>
    getAll<TemplateVersion>(`${pathOf(vertical, "versions")}/?limit=200`, 1_000),
  );
  const [retiring, setRetiring] = useState<TemplateVersion | null>(null);
  return (
    <section className="card" aria-label={t("versions")}>
      <h2>{t("versions")}</h2>
      {value === null ? (
        <Loading rows={1} />
      ) : (
        <ul className="steps-list">
          {value.map((one) => (
            <li key={one.version}>
              <strong>{one.version}</strong>{" "}
              <span className="muted">
                {one.published_at === null
                  ? t("withService")
                  : t("publishedBy", {
                      who: <PersonName by={one.published_by ?? ""} />,
                      when: <TimeAgo at={one.published_at} />,
                    })}
                {one.retired_at !== null && `, ${t("retired")}`}
              </span>{" "}
              {one.published_at !== null && one.retired_at === null && isAtLeast(role, "admin") && (
                <button type="button" className="link" onClick={() => setRetiring(one)}>
                  {t("retire")}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      <p className="actions">
        {isAtLeast(role, "member") && (
          <a className="button" href={linkTo("templates", vertical, "edit")}>
            {t("editDraft")}
          </a>
        )}
        {(value?.length ?? 0) > 1 && (
          <a className="button" href={linkTo("templates", vertical, "compare")}>
            {t("compare")}
          </a>
        )}
        <DownloadButton path={pathOf(vertical, "bpmn")} name={`${vertical}.bpmn`} text="BPMN" />
      </p>
      {retiring !== null && (
        <Retire
          one={retiring}
          onClose={() => setRetiring(null)}
          onDone={() => {
            setRetiring(null);
            clearCache();
            reload();
          }}
        />
      )}
    </section>
  );
}

function Retire({
  one,
  onClose,
  onDone,
}: {
  one: TemplateVersion;
  onClose: () => void;
  onDone: () => void;
}) {
  const [key] = useState(newIdempotencyKey);
  const [problem, setProblem] = useState<Problem | null>(null);
  const retire = () => {
    const path = pathOf(one.vertical, "versions", String(one.version), "retire");
    post(path, {}, key).then(onDone, (error: unknown) => setProblem(toProblem(error)));
  };
  return (
    <Dialog
      title={t("retireAsk", { version: one.version })}
      yes={t("retire")}
      danger
      onYes={retire}
      onNo={onClose}
    >
      <p>{t("retireHint")}</p>
      {problem !== null && <Note kind="bad" title={problem.message} />}
    </Dialog>
  );
}
