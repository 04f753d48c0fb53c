/** How a connector shows who calls: the fields of its authentication. */

import type { Connector } from "../../api/types";
import { Field } from "../../components/Field";
import type { ConnectorDraft } from "./draft";
import { connectors as t } from "../../text/en/connectors";

const AUTH_TYPES = ["none", "bearer", "header", "basic", "oauth2", "mtls"] as const;
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
          label={t("authentication")}
          options={AUTH_TYPES.map((one) => ({ value: one, name: t(`auth.${one}`) }))}
          value={draft.auth_type}
          onChange={set("auth_type")}
          required
          error={wrong("auth_type")}
        />
        {draft.auth_type === "header" && (
          <Field
            label={t("headerName")}
            value={draft.auth_header}
            onChange={set("auth_header")}
            required
            error={wrong("auth_header")}
          />
        )}
        {draft.auth_type !== "none" && (
          <Field
            label={t.code("secret", draft.auth_type, t("aSecret"))}
            {...(draft.auth_type === "mtls" ? { rows: PEM_ROWS } : { type: "password" })}
            autoComplete="off"
            value={draft.auth_token}
            onChange={set("auth_token")}
            required={stored?.auth_token_set !== true}
            hint={stored?.auth_token_set ? t("secretStored") : t("storedEncrypted")}
            error={wrong("auth_token")}
          />
        )}
      </div>
      {draft.auth_type === "oauth2" && (
        <div className="pair">
          <Field
            label={t("tokenUrl")}
            type="url"
            value={draft.token_url}
            onChange={set("token_url")}
            required
            error={wrong("token_url")}
          />
          <Field
            label={t("clientId")}
            value={draft.client_id}
            onChange={set("client_id")}
            required
            error={wrong("client_id")}
          />
          <Field
            label={t("scope")}
            value={draft.scope}
            onChange={set("scope")}
            error={wrong("scope")}
          />
          <Field
            label={t("audience")}
            value={draft.audience}
            onChange={set("audience")}
            error={wrong("audience")}
          />
        </div>
      )}
    </>
  );
}
