/** The form of a notification, new or changed; the service says all that is wrong at once. */

import { type FormEvent, useState } from "react";
import { get, getAll, newIdempotencyKey, type Problem, send, toProblem } from "../../api/client";
import { getTemplates } from "../../api/resources";
import type { AuthOptions, Group, NewNotificationRule, NotificationRule } from "../../api/types";
import { FormProblem } from "../../components/FieldErrors";
import { Check, Field } from "../../components/Field";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { isAtLeast } from "../../text/labels";
import { bodyOf, type Draft, draftOf, newDraft } from "./draft";
import { digestLabel, DIGESTS, EVENTS, type Kind, kindLabel, KINDS } from "./labels";
import { common } from "../../text/en/common";
import { notifications as t } from "../../text/en/notifications";

const GROUPS_MAX = 500;
export function NotificationForm({
  before,
  onSaved,
  onCancel,
}: {
  before: NotificationRule | null;
  onSaved: (made: NewNotificationRule) => void;
  onCancel: () => void;
}) {
  const [draft, setDraft] = useState<Draft>(before === null ? newDraft("slack") : draftOf(before));
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const set = (change: Partial<Draft>) => setDraft((now) => ({ ...now, ...change }));
  const wrong = (pointer: string) => problem?.fields.get(pointer);
  const save = (event: FormEvent) => {
    event.preventDefault();
    setProblem(null);
    setBusy(true);
    const request =
      before === null
        ? send<NewNotificationRule>("POST", "/notifications/", {
            body: bodyOf(draft),
            key: newIdempotencyKey(),
          })
        : send<NewNotificationRule>("PUT", `/notifications/${before.id}`, { body: bodyOf(draft) });
    request
      .then(
        ({ value }) => onSaved(value),
        (error: unknown) => setProblem(toProblem(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <form onSubmit={save} noValidate className="card">
      <h2>{before === null ? t("add") : t("changeTitle")}</h2>
      <FormProblem problem={problem} />
      <Whom draft={draft} set={set} before={before} wrong={wrong} />
      <Events draft={draft} set={set} error={wrong("/events")} />
      <Processes draft={draft} set={set} />
      <When draft={draft} set={set} wrong={wrong} />
      {before !== null && (
        <Check
          label={t("enabled")}
          hint={t("enabledHint")}
          checked={draft.enabled}
          onChange={(enabled) => set({ enabled })}
        />
      )}
      <div className="actions">
        <button type="submit" className="button primary" disabled={busy}>
          {before === null ? t("addIt") : common("save")}
        </button>
        <button type="button" className="button" onClick={onCancel}>
          {common("cancel")}
        </button>
      </div>
    </form>
  );
}

interface Part {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
}

function Whom({
  draft,
  set,
  before,
  wrong,
}: Part & { before: NotificationRule | null; wrong: (pointer: string) => string | undefined }) {
  const { role, company } = useAccount();
  const options = useLoad("auth options", () => get<AuthOptions>("/auth/options")).value;
  const path = `/companies/${encodeURIComponent(company.id)}/groups?limit=200`;
  const groups = useLoad("groups", () => getAll<Group>(path, GROUPS_MAX)).value ?? [];
  const kinds = KINDS.filter(
    (kind) => kind !== "email" || options?.password_reset === true || draft.kind === "email",
  );
  return (
    <>
      <Field
        label={t("channel")}
        value={draft.kind}
        onChange={(kind) => set({ kind: kind as Kind })}
        options={kinds.map((kind) => ({ value: kind, name: kindLabel(kind) }))}
        disabled={before !== null}
        error={wrong("/kind")}
        required
      />
      {(isAtLeast(role, "admin") || draft.group !== "") && (
        <Field
          label={t("for")}
          value={draft.group}
          onChange={(group) => set({ group })}
          options={[
            { value: "", name: t("me") },
            ...groups.map((one) => ({ value: one.name, name: t("group", { name: one.name }) })),
          ]}
          disabled={before !== null}
          error={wrong("/group")}
          required
        />
      )}
      {draft.kind !== "email" && (
        <Field
          label={t("url")}
          type="url"
          inputMode="url"
          value={draft.url}
          onChange={(url) => set({ url })}
          hint={
            before === null
              ? `${t.code("urlHint", draft.kind)} ${t("notShownAgain")}`
              : t("keepUrl", { url: before.url ?? t("presentOne") })
          }
          error={wrong("/url")}
          required={before === null}
        />
      )}
      <Field
        label={t("description")}
        value={draft.description}
        onChange={(description) => set({ description })}
        placeholder="#approvals"
        error={wrong("/description")}
      />
    </>
  );
}

function Events({ draft, set, error }: Part & { error: string | undefined }) {
  return (
    <fieldset
      className="choices"
      aria-describedby={error === undefined ? undefined : "events-error"}
    >
      <legend>{t("events")}</legend>
      {EVENTS.map((name) => (
        <Check
          key={name}
          label={t(`event.${name}`)}
          hint={t(`eventHint.${name}`)}
          checked={draft.events.includes(name)}
          onChange={(on) =>
            set({
              events: on ? [...draft.events, name] : draft.events.filter((one) => one !== name),
            })
          }
        />
      ))}
      {error !== undefined && (
        <p className="error" id="events-error">
          {t("chooseEvent")}
        </p>
      )}
    </fieldset>
  );
}

function Processes({ draft, set }: Part) {
  const templates = useLoad("templates", getTemplates).value ?? [];
  const count = draft.verticals.length;
  return (
    <details className="choices">
      <summary>{count === 0 ? t("allProcesses") : t("someProcesses", { count })}</summary>
      <fieldset>
        <legend className="visually-hidden">{t("onlyThese")}</legend>
        {templates.map((one) => (
          <Check
            key={one.vertical}
            label={<Label text={one.title} />}
            checked={draft.verticals.includes(one.vertical)}
            onChange={(on) =>
              set({
                verticals: on
                  ? [...draft.verticals, one.vertical]
                  : draft.verticals.filter((name) => name !== one.vertical),
              })
            }
          />
        ))}
      </fieldset>
    </details>
  );
}

function When({ draft, set, wrong }: Part & { wrong: (pointer: string) => string | undefined }) {
  return (
    <>
      <Field
        label={t("digestLabel")}
        value={draft.digest}
        onChange={(digest) => set({ digest })}
        options={DIGESTS.map((value) => ({ value, name: digestLabel(value) }))}
        error={wrong("/digest")}
        required
      />
      <Check
        label={t("quietHours")}
        hint={t("quietHint")}
        checked={draft.quiet}
        onChange={(quiet) => set({ quiet })}
      />
      {draft.quiet && (
        <div className="pair">
          <Field
            label={t("from")}
            type="time"
            value={draft.from}
            onChange={(from) => set({ from })}
            error={wrong("/quiet_hours/from")}
            required
          />
          <Field
            label={t("to")}
            type="time"
            value={draft.to}
            onChange={(to) => set({ to })}
            error={wrong("/quiet_hours/to")}
            required
          />
          <Field
            label={t("timeZone")}
            value={draft.timezone}
            onChange={(timezone) => set({ timezone })}
            options={[
              { value: "", name: t("companyZone") },
              ...Intl.supportedValuesOf("timeZone").map((zone) => ({ value: zone, name: zone })),
            ]}
            error={wrong("/quiet_hours/timezone")}
            required
          />
        </div>
      )}
    </>
  );
}
