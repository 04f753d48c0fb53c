/** A test call of a connector: what would be sent, the consent to send it, and its result. */

import { isObject, parse } from "../../api/json";
import type { ConnectorTestResult } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Field } from "../../components/Field";
import { Note } from "../../components/Feedback";
import { Text } from "../../components/Text";
import { Value } from "../../components/ValueTable";
import { common } from "../../text/en/common";
import { inUnits } from "../../text/labels";
import { connectors as t } from "../../text/en/connectors";

const ROWS = 3;

/** Sample values, as JSON texts. */
export interface Samples {
  inputs: string;
  facts: string;
}

/** The members of a test's body; null where a text is no JSON object. */
export function sampleMembers(samples: Samples): Record<string, unknown> | null {
  const members: Record<string, unknown> = {};
  for (const name of ["inputs", "facts"] as const) {
    const value = sampleOf(samples[name]);
    if (value === null) return null;
    if (value !== undefined) members[name] = value;
  }
  return members;
}

/** A text as an object with all its digits; undefined for an empty one, null for anything else. */
function sampleOf(text: string): Record<string, unknown> | null | undefined {
  if (text.trim() === "") return undefined;
  try {
    const value = parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function SampleFields({
  samples,
  onChange,
}: {
  samples: Samples;
  onChange: (samples: Samples) => void;
}) {
  const error = (text: string) =>
    sampleOf(text) === null ? common("mustBeJsonObject") : undefined;
  return (
    <details className="card">
      <summary>{t("samples")}</summary>
      <Field
        label={t("sampleInputs")}
        rows={ROWS}
        value={samples.inputs}
        onChange={(inputs) => onChange({ ...samples, inputs })}
        hint={t("samplesHint", { example: '{"member_id": "M-1"}' })}
        error={error(samples.inputs)}
      />
      <Field
        label={t("sampleFacts")}
        rows={ROWS}
        value={samples.facts}
        onChange={(facts) => onChange({ ...samples, facts })}
        hint={t("sampleFactsHint")}
        error={error(samples.facts)}
      />
    </details>
  );
}

/** The call as it would be sent, and the question whether to send it. */
export function SendDialog({
  preview,
  secret,
  busy,
  onYes,
  onNo,
}: {
  preview: ConnectorTestResult;
  secret: string;
  busy: boolean;
  onYes: () => void;
  onNo: () => void;
}) {
  const request = preview.request ?? {};
  const method = String(request.method);
  return (
    <Dialog
      title={t("testAsk")}
      yes={t("sendMethod", { method })}
      danger={method !== "GET"}
      busy={busy}
      onYes={onYes}
      onNo={onNo}
    >
      <p>{t("testHint")}</p>
      <p>
        <code>
          {method} <Text text={String(request.url)} />
        </code>
      </p>
      {request.body !== null && request.body !== undefined && <Value value={request.body} />}
      <Findings result={preview} />
      <p>
        {secret}
        {method !== "GET" && ` ${t("cannotBeUndone")}`}
      </p>
    </Dialog>
  );
}

export function TestResult({ result }: { result: ConnectorTestResult }) {
  return (
    <Note kind={result.ok ? "good" : "warn"} title={result.ok ? t("responded") : t("testFailed")}>
      <p>
        {result.status_code !== null && t("status", { status: String(result.status_code) })}
        {result.latency_ms !== null &&
          ` ${t("within", { time: inUnits([Math.round(result.latency_ms), "ms"]) })}`}
        {result.error !== null && (
          <>
            {" "}
            <Text text={result.error} />
          </>
        )}
      </p>
      <Findings result={result} />
      {result.body !== null && (
        <details>
          <summary>{t("response")}</summary>
          <Value value={result.body} />
        </details>
      )}
      {result.output !== null && (
        <details>
          <summary>{t("kept")}</summary>
          <Value value={result.output} />
        </details>
      )}
    </Note>
  );
}

function Findings({ result }: { result: ConnectorTestResult }) {
  if (result.findings.length === 0) return null;
  return (
    <ul className="findings">
      {result.findings.map((finding) => (
        <li key={finding.pointer + finding.detail}>
          <code>{finding.pointer}</code> <Text text={finding.detail} />
        </li>
      ))}
    </ul>
  );
}
