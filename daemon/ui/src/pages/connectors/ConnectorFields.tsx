/** The form fields of a connector. */

import type { Connector } from "../../api/types";
import { Check, Field } from "../../components/Field";
import { AuthFields } from "./AuthFields";
import type { ConnectorDraft } from "./draft";

interface Props {
  draft: ConnectorDraft;
  onChange: (draft: ConnectorDraft) => void;
  errors: Map<string, string>;
  stored: Connector | null;
}

export function ConnectorFields({ draft, onChange, errors, stored }: Props) {
  const set =
    <K extends keyof ConnectorDraft>(name: K) =>
    (value: ConnectorDraft[K]) =>
      onChange({ ...draft, [name]: value });
  const wrong = (name: string) =>
    [...errors].find(([pointer]) => pointer === `/${name}` || pointer.startsWith(`/${name}/`))?.[1];
  const choices = (...names: string[]) => names.map((value) => ({ value, name: value }));
  return (
    <>
      <section className="card">
        <h2>Endpoint</h2>
        <div className="pair wide-first">
          <Field
            label="Base URL"
            type="url"
            inputMode="url"
            placeholder="https://api.example.com"
            value={draft.base_url}
            onChange={set("base_url")}
            required
            error={wrong("base_url")}
          />
          <Field
            label="Path"
            placeholder="/payments"
            value={draft.path}
            onChange={set("path")}
            hint="{inputs.member_id} stands for an input or a fact"
            error={wrong("path")}
          />
          <Field
            label="Method"
            options={choices("GET", "POST", "PUT", "PATCH", "DELETE")}
            value={draft.method}
            onChange={set("method")}
            required
            error={wrong("method")}
          />
        </div>
        <AuthFields draft={draft} set={set} wrong={wrong} stored={stored} />
      </section>
      <section className="card">
        <h2>Mode</h2>
        <Check
          label="Live: send calls to the endpoint"
          hint="Off (shadow): each call is recorded and not sent, and the run continues with a sample response from the template. On: each call is sent."
          checked={draft.reversible}
          onChange={set("reversible")}
        />
        <Check
          label="The endpoint supports Idempotency-Key"
          hint="An irreversible call whose outcome is unknown may then be sent again with the same key."
          checked={draft.idempotent}
          onChange={set("idempotent")}
        />
        <Check
          label="The endpoint answers later"
          hint="Each call carries a signed URL in X-Penstock-Callback. The step waits until the answer is posted there."
          checked={draft.callback}
          onChange={set("callback")}
        />
        {draft.callback && (
          <Field
            label="Wait for the answer (seconds)"
            inputMode="numeric"
            value={draft.callback_timeout}
            onChange={set("callback_timeout")}
            required
            error={wrong("callback_timeout_s")}
          />
        )}
        {wrong("callback") !== undefined && <p className="field-error">{wrong("callback")}</p>}
      </section>
      <details
        className="card"
        open={
          [draft.query, draft.body, draft.headers, draft.response, draft.signal_rule].some(
            (text) => text !== "",
          ) || errors.size > 0
        }
      >
        <summary>Request and response mapping</summary>
        <Field
          label="Body mapping"
          rows={3}
          value={draft.body}
          onChange={set("body")}
          hint="One line per field: field = key of an input or a fact. Empty: all inputs and facts."
          error={wrong("body_map")}
        />
        <Field
          label="Query mapping"
          rows={2}
          value={draft.query}
          onChange={set("query")}
          hint="The same for query parameters"
          error={wrong("query_map")}
        />
        <Field
          label="Headers"
          rows={2}
          value={draft.headers}
          onChange={set("headers")}
          hint="Sent as they stand, one per line: Name = value. Everybody here sees them: no secrets."
          error={wrong("headers")}
        />
        <Field
          label="Response mapping"
          rows={2}
          value={draft.response}
          onChange={set("response")}
          hint="What the step keeps of a response, one per line: name = JMESPath. Empty: all of it."
          error={wrong("response_map")}
        />
        <Field
          label="Signal rule"
          rows={2}
          value={draft.signal_rule}
          onChange={set("signal_rule")}
          hint="A CEL expression over response.status and response.body. When it is true, a person reviews the next step."
          error={wrong("signal_rule")}
        />
        <div className="pair">
          <Field
            label="Timeout (seconds)"
            inputMode="decimal"
            value={draft.timeout}
            onChange={set("timeout")}
            required
            error={wrong("timeout_s")}
          />
          <Field
            label="Retries"
            inputMode="numeric"
            value={draft.retries}
            onChange={set("retries")}
            required
            error={wrong("retries")}
          />
        </div>
      </details>
    </>
  );
}
