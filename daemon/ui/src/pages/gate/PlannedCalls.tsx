/** The irreversible calls that a decision can lead to before the next gate. */

import type { Gate, PlannedCall } from "../../api/types";
import { CallDetail, NoConnector } from "../../components/CallDetail";
import { Icon } from "../../components/Icon";
import { Label, Text } from "../../components/Text";
import { decisionLabel } from "../../text/labels";
import { countOf, joinNames } from "../../text/sentences";

export function PlannedCalls({ gate, effects }: { gate: Gate; effects: PlannedCall[] }) {
  const live = effects.filter((one) => one.mode === "live").length;
  const shown = gate.effect !== null;
  return (
    <section className="card effects">
      <h2>
        {effects.some((one) => !one.decisions.includes("approved"))
          ? "Calls that your decision can send"
          : "Calls that an approval can send"}
      </h2>
      <p className="muted">{summary(effects.length, live)}</p>
      {effects.length > 0 && (
        <ul>
          {effects.map((one) => (
            <li key={one.step_id} className={`effect effect-${one.mode}`}>
              <PlannedCallItem
                one={one}
                known={shown && one.step_id === gate.step_id}
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
function PlannedCallItem({ one, known, gate }: { one: PlannedCall; known: boolean; gate: Gate }) {
  const on =
    one.decisions.length < gate.decisions.length
      ? `on ${joinNames(one.decisions.map((name) => `“${decisionLabel(name)}”`))}`
      : "on every decision";
  return (
    <>
      <p>
        <strong>
          <Label text={one.label} />
        </strong>{" "}
        <span className={`badge mode-${one.mode}`}>
          <Icon name={one.mode} size={14} /> {one.mode === "live" ? "Live" : "Dry run"}
        </span>{" "}
        <span className="muted small">
          <Label text={on} />
        </span>
      </p>
      {one.connector === null ? (
        <NoConnector tool={one.tool} />
      ) : (
        <p className="small">
          <code>{one.connector.method}</code>{" "}
          <code className="url">
            <Text text={one.connector.origin + one.connector.path} />
          </code>{" "}
          <span className="muted">
            tool <Label text={one.tool} />, version {one.connector.version} of its connector
          </span>
        </p>
      )}
      {known && <p className="muted small">Its content is shown above.</p>}
      {!known && one.call !== null && <CallDetail call={one.call} state="planned" />}
      {one.call === null && one.mode === "live" && (
        <p className="muted small">Its content depends on steps that have not run yet.</p>
      )}
    </>
  );
}
