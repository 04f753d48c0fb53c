/** How a connector shows who calls: the fields of its authentication. */

import type { Connector } from "../../api/types";
import { Field } from "../../components/Field";
import type { ConnectorDraft } from "./draft";

const SECRET_LABELS: Record<string, string> = {
  bearer: "Token",
  header: "API key",
  basic: "user:password",
  oauth2: "Client secret",
  mtls: "Certificate and private key (PEM)",
};
const PEM_ROWS = 6;

interface Props {
  draft: ConnectorDraft;
  set: <K extends keyof ConnectorDraft>(name: K) => (value: ConnectorDraft[K]) => void;
  wrong: (name: string) => string | undefined;
  stored: Connector | null;
}

export function AuthFields({ draft, set, wrong, stored }: Props) {
  return (
    <>
      <div className="pair">
        <Field
          label="Authentication"
          options={[
            { value: "none", name: "None" },
            { value: "bearer", name: "Bearer token" },
            { value: "header", name: "API key header" },
            { value: "basic", name: "Basic" },
            { value: "oauth2", name: "OAuth 2 client credentials" },
            { value: "mtls", name: "Client certificate (mTLS)" },
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
            {...(draft.auth_type === "mtls" ? { rows: PEM_ROWS } : { type: "password" })}
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
      {draft.auth_type === "oauth2" && (
        <div className="pair">
          <Field
            label="Token URL"
            type="url"
            value={draft.token_url}
            onChange={set("token_url")}
            required
            error={wrong("token_url")}
          />
          <Field
            label="Client ID"
            value={draft.client_id}
            onChange={set("client_id")}
            required
            error={wrong("client_id")}
          />
          <Field label="Scope" value={draft.scope} onChange={set("scope")} error={wrong("scope")} />
          <Field
            label="Audience"
            value={draft.audience}
            onChange={set("audience")}
            error={wrong("audience")}
          />
        </div>
      )}
    </>
  );
}
