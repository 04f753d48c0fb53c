/** The form fields of a connector. */

import type { Connector } from "../../api/types";
import { Check, Field } from "../../components/Field";
import type { ConnectorDraft } from "./draft";

const SECRET_LABELS: Record<string, string> = {
  bearer: "Token",
  header: "API key",
  basic: "user:password",
};

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
        <div className="pair">
          <Field
            label="Authentication"
            options={[
              { value: "none", name: "None" },
              { value: "bearer", name: "Bearer token" },
              { value: "header", name: "API key header" },
              { value: "basic", name: "Basic" },
            ]}
            value={draft.auth_type}
            onChange={set("auth_type")}
            required
            error={wrong("auth_type")}
          />
          {draft.auth_type === "header" && (
            <Field
              label="Header name"
              value={draft.auth_header}
              onChange={set("auth_header")}
              required
              error={wrong("auth_header")}
            />
          )}
          {draft.auth_type !== "none" && (
            <Field
              label={SECRET_LABELS[draft.auth_type] ?? "Secret"}
              type="password"
              autoComplete="off"
              value={draft.auth_token}
              onChange={set("auth_token")}
              required={stored?.auth_token_set !== true}
              hint={
                stored?.auth_token_set
                  ? "A secret is stored. Leave this empty to keep it."
                  : "Stored encrypted and never shown again"
              }
              error={wrong("auth_token")}
            />
          )}
        </div>
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
      </section>
      <details
        className="card"
        open={
          draft.query !== "" || draft.body !== "" || draft.signal_rule !== "" || errors.size > 0
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
