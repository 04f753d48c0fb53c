/** The last checkpoint and the export. */

import { get } from "../../api/client";
import type { Checkpoint } from "../../api/types";
import { DownloadButton } from "../../components/DownloadButton";
import { LoadError, Loading } from "../../components/Feedback";
import { TimeAgo } from "../../components/Time";
import { useLoad } from "../../state/useLoad";
import { formatTime } from "../../text/labels";
import { audit as t } from "../../text/en/audit";

export function Evidence() {
  const { value, problem, reload } = useLoad("checkpoint", () =>
    get<Checkpoint[]>("/audit/checkpoints?limit=1"),
  );
  const last = value?.[0];
  return (
    <>
      <section className="card">
        <h2>{t("lastCheckpoint")}</h2>
        {value === null ? (
          problem === null ? (
            <Loading rows={2} />
          ) : (
            <LoadError problem={problem} retry={reload} />
          )
        ) : last === undefined ? (
          <p className="muted">{t("noCheckpoint")}</p>
        ) : (
          <dl className="facts">
            <div>
              <dt>{t("created")}</dt>
              <dd>
                <TimeAgo at={last.at} />{" "}
                <span className="muted small">({formatTime(last.at)})</span>
              </dd>
            </div>
            <div>
              <dt>{t("covers")}</dt>
              <dd>{t("commits", { count: last.size })}</dd>
            </div>
            <div>
              <dt>{t("root")}</dt>
              <dd>
                <code className="long">{last.root}</code>
              </dd>
            </div>
            <div>
              <dt>{t("signedWith")}</dt>
              <dd>
                <code className="long">{last.key_id}</code>
              </dd>
            </div>
          </dl>
        )}
      </section>
      <section className="card">
        <h2>{t("export")}</h2>
        <p>{t("exportHint")}</p>
        <DownloadButton path="/audit/export" name="penstock-export.jsonl" text={t("exportAll")} />
      </section>
    </>
  );
}
