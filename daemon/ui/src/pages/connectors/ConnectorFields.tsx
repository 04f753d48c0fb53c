/** The fields of a connector, as texts while somebody writes, and as the service takes them when it is sent. */

import type { Connector } from "../../api/types";
import { Check, Field } from "../../components/Field";
import type { ConnectorDraft } from "./draft";

interface Props {
  draft: ConnectorDraft;
  onChange: (draft: ConnectorDraft) => void;
  errors: Map<string, string>;
  stored: Connector | null;
}

export function ConnectorFields({ draft, onChange, errors, stored }: Props) {
  const set = <K extends keyof ConnectorDraft>(name: K) => (value: ConnectorDraft[K]) => onChange({ ...draft, [name]: value });
  const wrong = (name: string) => [...errors].find(([pointer]) => pointer === `/${name}` || pointer.startsWith(`/${name}/`))?.[1];
  const choices = (...names: string[]) => names.map((value) => ({ value, name: value }));
  return (
    <>
      <section className="card">
        <h2>Where it calls</h2>
        <div className="pair wide-first">
          <Field label="Address" type="url" inputMode="url" placeholder="https://api.example.com" value={draft.base_url} onChange={set("base_url")} required error={wrong("base_url")} />
          <Field label="Path" placeholder="/payments" value={draft.path} onChange={set("path")} error={wrong("path")} />
          <Field label="Method" options={choices("GET", "POST", "PUT", "PATCH", "DELETE")} value={draft.method} onChange={set("method")} required error={wrong("method")} />
        </div>
        <div className="pair">
          <Field
            label="Who it is"
            options={[
              { value: "none", name: "It does not say" },
              { value: "bearer", name: "A bearer token" },
              { value: "header", name: "A header of its own" },
              { value: "basic", name: "User and password" },
            ]}
            value={draft.auth_type}
            onChange={set("auth_type")}
            required
            error={wrong("auth_type")}
          />
          {draft.auth_type === "header" && <Field label="Name of the header" value={draft.auth_header} onChange={set("auth_header")} required error={wrong("auth_header")} />}
          {draft.auth_type !== "none" && (
            <Field
              label={draft.auth_type === "basic" ? "user:password" : "Secret"}
              type="password"
              autoComplete="off"
              value={draft.auth_token}
              onChange={set("auth_token")}
              hint={stored?.auth_token_set ? "One is stored and never shown. Leave this empty to keep it." : "Stored sealed, and never shown again"}
              error={wrong("auth_token")}
            />
          )}
        </div>
      </section>
      <section className="card">
        <h2>Shadow or live</h2>
        <Check
          label="Send for real"
          hint="Off: each call is recorded as it would be sent, no connection is opened, and the run goes on with a sample answer of the template. On: the call is sent."
          checked={draft.reversible}
          onChange={set("reversible")}
        />
        <Check
          label="The other side honours Idempotency-Key"
          hint="Then a call that cannot be undone may be sent again with the same key when nobody knows whether it arrived."
          checked={draft.idempotent}
          onChange={set("idempotent")}
        />
      </section>
      <details className="card" open={draft.query !== "" || draft.body !== "" || draft.signal_rule !== "" || errors.size > 0}>
        <summary>What is sent, and how the answer is read</summary>
        <Field label="Body" rows={3} value={draft.body} onChange={set("body")} hint="One line for each: name to send = key in facts or inputs. Empty: all of both." error={wrong("body_map")} />
        <Field label="Query" rows={2} value={draft.query} onChange={set("query")} hint="The same, for the address" error={wrong("query_map")} />
        <Field label="An answer is a hit when" rows={2} value={draft.signal_rule} onChange={set("signal_rule")} hint="A CEL expression over response.status and response.body. After a hit a person looks first." error={wrong("signal_rule")} />
        <div className="pair">
          <Field label="Seconds to wait" inputMode="decimal" value={draft.timeout} onChange={set("timeout")} required error={wrong("timeout_s")} />
          <Field label="Further tries" inputMode="numeric" value={draft.retries} onChange={set("retries")} required error={wrong("retries")} />
        </div>
      </details>
    </>
  );
}
