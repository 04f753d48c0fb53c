/** The full request of a call. The service masks secrets. */

import { prettyPrint } from "../api/json";
import type { Call } from "../api/types";
import { type CallState, describeCall } from "../text/sentences";
import { ModeBadge } from "./Badges";
import { Label, Text } from "./Text";
import { common as t } from "../text/en/common";

export function CallDetail({ call, state }: { call: Call; state: CallState }) {
  return (
    <div className={`call call-${call.mode}`}>
      <p className="call-mode">
        <ModeBadge mode={call.mode} /> <strong>{describeCall(call.mode, state)}</strong>
      </p>
      {call.url === null && call.mode !== "handed" ? (
        <NoConnector tool={call.tool} />
      ) : (
        <>
          {call.url !== null && (
            <p className="call-line">
              <code>{call.method}</code>{" "}
              <code className="url">
                <Text text={call.url} />
              </code>
            </p>
          )}
          {Object.keys(call.headers).length > 0 && (
            <details>
              <summary>{t("headers")}</summary>
              <pre tabIndex={0}>
                {Object.entries(call.headers)
                  .map(([name, value]) => `${name}: ${value}`)
                  .join("\n")}
              </pre>
            </details>
          )}
          {call.body !== null && (
            <details open={prettyPrint(call.body).length < 800}>
              <summary>{t("body")}</summary>
              <pre tabIndex={0}>
                <Text text={prettyPrint(call.body)} />
              </pre>
            </details>
          )}
        </>
      )}
    </div>
  );
}

export function NoConnector({ tool }: { tool: string }) {
  return (
    <p className="muted">
      {t("noConnector", {
        tool: (
          <code>
            <Label text={tool} />
          </code>
        ),
      })}
    </p>
  );
}
