/** The irreversible calls that a decision can lead to before the next gate. */

import type { Gate, PlannedCall } from "../../api/types";
import { CallDetail, NoConnector } from "../../components/CallDetail";
import { Icon } from "../../components/Icon";
import { unknownContent } from "./missingInputs";
import { Label, Text } from "../../components/Text";
import { formatList } from "../../text/formats";
import { decisionLabel, modeLabel, quoted } from "../../text/labels";
import { gate as t } from "../../text/en/gate";

export function PlannedCalls({ gate, effects }: { gate: Gate; effects: PlannedCall[] }) {
  const live = effects.filter((call) => call.mode === "live").length;
  const handed = effects.filter((call) => call.mode === "handed").length;
  const shown = gate.effect !== null;
  return (
    <section className="card effects">
      <h2>
        {effects.some((call) => !call.decisions.includes("approved"))
          ? t("decisionCalls")
          : t("approvalCalls")}
      </h2>
      <p className="muted">{summary(effects.length, live, handed)}</p>
      {effects.length > 0 && (
        <ul>
          {effects.map((call) => (
            <li key={call.step_id} className={`effect effect-${call.mode}`}>
              <PlannedCallItem
                call={call}
                known={shown && call.step_id === gate.step_id}
                gate={gate}
              />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function summary(all: number, live: number, handed: number): string {
  if (all === 0) return t("noCalls");
  if (handed > 0) return t("handedCalls", { count: handed });
  if (live === 0) return t("dryRunCalls", { count: all });
  return live === all ? t("liveCalls", { count: all }) : t("someLiveCalls", { live, count: all });
}

/** A call whose content is already on the page is only named. */
function PlannedCallItem({ call, known, gate }: { call: PlannedCall; known: boolean; gate: Gate }) {
  const on =
    gate.decisions.length === 1 || call.decisions.length < gate.decisions.length
      ? t("onDecisions", {
          names: formatList(call.decisions.map((name) => quoted(decisionLabel(name)))),
        })
      : t("onEvery");
  return (
    <>
      <p>
        <strong>
          <Label text={call.label} />
        </strong>{" "}
        <span className={`badge mode-${call.mode}`}>
          <Icon name={call.mode} size={14} /> {modeLabel(call.mode)}
        </span>{" "}
        <span className="muted small">
          <Label text={on} />
        </span>
      </p>
      {call.connector === null ? (
        call.mode !== "handed" && <NoConnector tool={call.tool} />
      ) : (
        <p className="small">
          <code>{call.connector.method}</code>{" "}
          <code className="url">
            <Text text={call.connector.origin + call.connector.path} />
          </code>{" "}
          <span className="muted">
            {t("toolVersion", {
              tool: <Label text={call.tool} />,
              version: call.connector.version,
            })}
          </span>
        </p>
      )}
      {known && <p className="muted small">{t("contentAbove")}</p>}
      {!known && call.call !== null && <CallDetail call={call.call} state="planned" />}
      {call.call === null && call.mode === "live" && (
        <p className="muted small">{unknownContent(gate, call.step_id)}</p>
      )}
    </>
  );
}
