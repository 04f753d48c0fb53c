/** The irreversible calls that a decision can lead to before the next gate. */

import type { Gate, PlannedCall } from "../../api/types";
import { CallDetail, NoConnector } from "../../components/CallDetail";
import { Icon } from "../../components/Icon";
import { Label, Text } from "../../components/Text";
import { decisionLabel } from "../../text/labels";
import { countOf, joinNames } from "../../text/sentences";

export function PlannedCalls({ gate, effects }: { gate: Gate; effects: PlannedCall[] }) {
  const live = effects.filter((call) => call.mode === "live").length;
  const shown = gate.effect !== null;
  return (
    <section className="card effects">
      <h2>
        {effects.some((call) => !call.decisions.includes("approved"))
          ? "Calls that the decision can send"
          : "Calls that an approval can send"}
      </h2>
      <p className="muted">{summary(effects.length, live)}</p>
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

function summary(all: number, live: number): string {
  if (all === 0) return "No irreversible call follows before the next decision.";
  if (live === 0)
    return `Dry run: ${countOf(all, "irreversible call")} ${all === 1 ? "is" : "are"} recorded and not sent.`;
  return `${live === all ? "" : `${live} of `}${countOf(all, "irreversible call")} can be sent live.`;
}

/** A call whose content is already on the page is only named. */
function PlannedCallItem({ call, known, gate }: { call: PlannedCall; known: boolean; gate: Gate }) {
  const on =
    call.decisions.length < gate.decisions.length
      ? `on ${joinNames(call.decisions.map((name) => `“${decisionLabel(name)}”`))}`
      : "on every decision";
  return (
    <>
      <p>
        <strong>
          <Label text={call.label} />
        </strong>{" "}
        <span className={`badge mode-${call.mode}`}>
          <Icon name={call.mode} size={14} /> {call.mode === "live" ? "Live" : "Dry run"}
        </span>{" "}
        <span className="muted small">
          <Label text={on} />
        </span>
      </p>
      {call.connector === null ? (
        <NoConnector tool={call.tool} />
      ) : (
        <p className="small">
          <code>{call.connector.method}</code>{" "}
          <code className="url">
            <Text text={call.connector.origin + call.connector.path} />
          </code>{" "}
          <span className="muted">
            tool <Label text={call.tool} />, version {call.connector.version} of its connector
          </span>
        </p>
      )}
      {known && <p className="muted small">Its content is shown above.</p>}
      {!known && call.call !== null && <CallDetail call={call.call} state="planned" />}
      {call.call === null && call.mode === "live" && (
        <p className="muted small">Its content depends on steps that have not run yet.</p>
      )}
    </>
  );
}
