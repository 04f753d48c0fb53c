/** The last checkpoint and the export. */

import { get } from "../../api/client";
import type { Checkpoint } from "../../api/types";
import { DownloadButton } from "../../components/DownloadButton";
import { LoadError, Loading } from "../../components/Feedback";
import { TimeAgo } from "../../components/Time";
import { useLoad } from "../../state/useLoad";
import { formatTime } from "../../text/labels";

export function Evidence() {
  const { value, problem, reload } = useLoad("checkpoint", () =>
    get<Checkpoint[]>("/audit/checkpoints?limit=1"),
  );
  const last = value?.[0];
  return (
    <>
      <section className="card">
        <h2>Last checkpoint</h2>
        {value === null ? (
          problem === null ? (
            <Loading rows={2} />
          ) : (
            <LoadError problem={problem} retry={reload} />
          )
        ) : last === undefined ? (
          <p className="muted">
            There is no checkpoint yet. The first follows within a minute of the first change.
          </p>
        ) : (
          <dl className="facts">
            <div>
              <dt>Created</dt>
              <dd>
                <TimeAgo at={last.at} />{" "}
                <span className="muted small">({formatTime(last.at)})</span>
              </dd>
            </div>
            <div>
              <dt>Covers</dt>
              <dd>{last.size.toLocaleString("en")} commits</dd>
            </div>
            <div>
              <dt>Root</dt>
              <dd>
                <code className="long">{last.root}</code>
              </dd>
            </div>
            <div>
              <dt>Signed with key</dt>
              <dd>
                <code className="long">{last.key_id}</code>
              </dd>
            </div>
          </dl>
        )}
      </section>
      <section className="card">
        <h2>Export</h2>
        <p>All events and the log of the company in one file.</p>
        <DownloadButton
          path="/audit/export"
          name="penstock-export.jsonl"
          text="Export everything"
        />
      </section>
    </>
  );
}
