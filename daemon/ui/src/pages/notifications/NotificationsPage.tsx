/** What one is told of, and for admins what groups are. */

import { useState } from "react";
import { getAll, post, type Problem, remove, toProblem } from "../../api/client";
import type { NewNotificationRule, NotificationRule, WebhookTestResult } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { EmptyState, LoadError, Loading, Note } from "../../components/Feedback";
import { Heading } from "../../components/Heading";
import { Label } from "../../components/Text";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { isAtLeast } from "../../text/labels";
import { DeliveryLog } from "./DeliveryLog";
import { eventLabel, kindLabel, scheduleLabel } from "./labels";
import { NotificationForm } from "./NotificationForm";
import { notifications as t } from "../../text/en/notifications";

const NOTIFICATIONS_MAX = 1_000;

export default function NotificationsPage() {
  const { role } = useAccount();
  const { value, problem, reload } = useLoad("notifications", () =>
    getAll<NotificationRule>("/notifications/?limit=200", NOTIFICATIONS_MAX),
  );
  const [edited, setEdited] = useState<NotificationRule | "new" | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const saved = (made: NewNotificationRule) => {
    setEdited(null);
    setSecret(made.secret ?? null);
    reload();
  };
  return (
    <>
      <Heading title={t("title")}>
        <p className="lead">
          {t(isAtLeast(role, "admin") ? "leadGroups" : "lead")} {t("linkHint")}
        </p>
      </Heading>
      <div className="account">
        {secret !== null && (
          <Note kind="good" title={t("secretOnce")}>
            <p>
              <code className="wrap">{secret}</code>
            </p>
          </Note>
        )}
        {edited !== null ? (
          <NotificationForm
            key={edited === "new" ? "new" : edited.id}
            before={edited === "new" ? null : edited}
            onSaved={saved}
            onCancel={() => setEdited(null)}
          />
        ) : (
          <div className="actions">
            <button type="button" className="button primary" onClick={() => setEdited("new")}>
              {t("add")}
            </button>
          </div>
        )}
        {value === null ? (
          problem === null ? (
            <Loading rows={2} what={t("loading")} />
          ) : (
            <LoadError problem={problem} retry={reload} />
          )
        ) : value.length === 0 && edited === null ? (
          <EmptyState icon="inbox" title={t("noneYet")}>
            <p>{t("noneHint")}</p>
          </EmptyState>
        ) : (
          value.map((one) => (
            <NotificationCard
              key={one.id}
              one={one}
              onEdit={() => setEdited(one)}
              onChanged={reload}
            />
          ))
        )}
      </div>
    </>
  );
}

function NotificationCard({
  one,
  onEdit,
  onChanged,
}: {
  one: NotificationRule;
  onEdit: () => void;
  onChanged: () => void;
}) {
  const [tested, setTested] = useState<WebhookTestResult | null>(null);
  const [failed, setFailed] = useState<Problem | null>(null);
  const [logged, setLogged] = useState(false);
  const [leaving, setLeaving] = useState(false);
  const name =
    one.group === null
      ? t("kindForMe", { kind: kindLabel(one.kind) })
      : t("kindForGroup", { kind: kindLabel(one.kind), group: one.group });
  const act = (doing: Promise<unknown>) => {
    setFailed(null);
    setTested(null);
    doing.catch((error: unknown) => setFailed(toProblem(error)));
  };
  return (
    <section className="card" aria-label={name}>
      <h2>{name}</h2>
      <Summary one={one} />
      {failed !== null && <Note kind="bad" title={failed.message} />}
      {tested !== null && (
        <Note
          kind={tested.ok ? "good" : "bad"}
          title={tested.ok ? t("testSent") : (tested.error ?? t("testFailed"))}
        />
      )}
      <div className="actions">
        <button
          type="button"
          className="button"
          onClick={() =>
            act(post<WebhookTestResult>(`/notifications/${one.id}/test`).then(setTested))
          }
        >
          {t("sendTest")}
        </button>
        <button type="button" className="button" onClick={onEdit}>
          {t("change")}
        </button>
        <button
          type="button"
          className="button"
          aria-expanded={logged}
          onClick={() => setLogged(!logged)}
        >
          {t("log")}
        </button>
        <button type="button" className="button" onClick={() => setLeaving(true)}>
          {t("delete")}
        </button>
      </div>
      {logged && <DeliveryLog id={one.id} />}
      {leaving && (
        <Dialog
          title={t("deleteAsk")}
          yes={t("delete")}
          danger
          onNo={() => setLeaving(false)}
          onYes={() => {
            setLeaving(false);
            act(remove(`/notifications/${one.id}`).then(onChanged));
          }}
        >
          <p>{t("deleteHint")}</p>
        </Dialog>
      )}
    </section>
  );
}

function Summary({ one }: { one: NotificationRule }) {
  const where = [one.description, one.url].filter((text) => text !== null).join(" · ");
  const schedule = scheduleLabel(one);
  return (
    <>
      {!one.enabled && (
        <Note kind="warn" title={one.disabled_reason ?? t("paused")}>
          {one.disabled_reason !== null && <p>{t("saveAgain")}</p>}
        </Note>
      )}
      <p>{one.events.map(eventLabel).join(", ")}</p>
      <p className="muted small">
        {where !== "" && (
          <>
            <Label text={where} maxLength={200} />
            <br />
          </>
        )}
        {one.verticals === null ? t("everyProcess") : one.verticals.join(", ")}
        {schedule !== "" && ` · ${schedule}`}
        {one.failures > 0 && ` · ${t("failedInRow", { count: one.failures })}`}
      </p>
    </>
  );
}
