/** The form fields of a connector. */

import type { Connector } from "../../api/types";
import { Check, Field } from "../../components/Field";
import { useAccount } from "../../state/session";
import { isAtLeast, rolesFrom } from "../../text/labels";
import { AuthFields } from "./AuthFields";
import type { ConnectorDraft } from "./draft";
import { connectors as t } from "../../text/en/connectors";

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
  const admin = isAtLeast(useAccount().role, "admin");
  const choices = (...names: string[]) => names.map((value) => ({ value, name: value }));
  return (
    <>
      <section className="card">
        <h2>{t("endpoint")}</h2>
        <div className="pair wide-first">
          <Field
            label={t("baseUrl")}
            type="url"
            inputMode="url"
            placeholder="https://api.example.com"
            value={draft.base_url}
            onChange={set("base_url")}
            required
            error={wrong("base_url")}
          />
          <Field
            label={t("path")}
            placeholder="/payments"
            value={draft.path}
            onChange={set("path")}
            hint={t("pathHint", { example: "{inputs.member_id}" })}
            error={wrong("path")}
          />
          <Field
            label={t("method")}
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
        <h2>{t("mode")}</h2>
        <Check
          label={t("liveLabel")}
          hint={
            admin
              ? t("liveHint")
              : `${t("liveHint")} ${t("rolesGoLive", { roles: rolesFrom("admin") })}`
          }
          disabled={!admin}
          checked={draft.reversible}
          onChange={set("reversible")}
        />
        <Check
          label={t("idempotentLabel")}
          hint={t("idempotentHint")}
          checked={draft.idempotent}
          onChange={set("idempotent")}
        />
        <Check
          label={t("callbackLabel")}
          hint={t("callbackHint")}
          checked={draft.callback}
          onChange={set("callback")}
        />
        {draft.callback && (
          <Field
            label={t("callbackTimeout")}
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
        <summary>{t("mapping")}</summary>
        <Field
          label={t("bodyMap")}
          rows={3}
          value={draft.body}
          onChange={set("body")}
          hint={t("bodyMapHint")}
          error={wrong("body_map")}
        />
        <Field
          label={t("queryMap")}
          rows={2}
          value={draft.query}
          onChange={set("query")}
          hint={t("queryMapHint")}
          error={wrong("query_map")}
        />
        <Field
          label={t("headers")}
          rows={2}
          value={draft.headers}
          onChange={set("headers")}
          hint={t("headersHint")}
          error={wrong("headers")}
        />
        <Field
          label={t("responseMap")}
          rows={2}
          value={draft.response}
          onChange={set("response")}
          hint={t("responseMapHint")}
          error={wrong("response_map")}
        />
        <Field
          label={t("signalRule")}
          rows={2}
          value={draft.signal_rule}
          onChange={set("signal_rule")}
          hint={t("signalRuleHint")}
          error={wrong("signal_rule")}
        />
        <div className="pair">
          <Field
            label={t("timeout")}
            inputMode="decimal"
            value={draft.timeout}
            onChange={set("timeout")}
            required
            error={wrong("timeout_s")}
          />
          <Field
            label={t("retries")}
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
