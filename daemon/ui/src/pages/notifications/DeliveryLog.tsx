/** What a notification told, newest first, and sending it again. */

import { useState } from "react";
import { getAll, newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import type { NotificationDelivery } from "../../api/types";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { linkTo } from "../../state/router";
import { useLoad } from "../../state/useLoad";
import { formatTime } from "../../text/labels";
import { eventLabel, statusLabel } from "./labels";
import { notifications as t } from "../../text/en/notifications";

const PAGE = 50;

export function DeliveryLog({ id }: { id: string }) {
  const [most, setMost] = useState(PAGE);
  const path = `/notifications/${id}/deliveries?limit=${PAGE}`;
  const { value, problem, reload } = useLoad(`deliveries ${id} ${most}`, () =>
    getAll<NotificationDelivery>(path, most),
  );
  const [failed, setFailed] = useState<Problem | null>(null);
  const again = (delivery: string) => {
    setFailed(null);
    post(`/notifications/${id}/deliveries/${delivery}/redeliver`, {}, newIdempotencyKey()).then(
      reload,
      (error: unknown) => setFailed(toProblem(error)),
    );
  };
  if (value === null)
    return problem === null ? (
      <Loading rows={2} what={t("loadingDeliveries")} />
    ) : (
      <LoadError problem={problem} retry={reload} />
    );
  return (
    <div>
      {failed !== null && <Note kind="bad" title={failed.message} />}
      <div className="actions">
        <button type="button" className="button" onClick={reload}>
          {t("refresh")}
        </button>
      </div>
      {value.length === 0 && <p className="muted">{t("nothingSent")}</p>}
      <ul className="sessions" aria-label={t("deliveries")}>
        {value.map((one) => (
          <li key={one.id}>
            <Delivery one={one} />
            <button type="button" className="button" onClick={() => again(one.id)}>
              {t("sendAgain")}
              <span className="visually-hidden"> {one.id}</span>
            </button>
          </li>
        ))}
      </ul>
      {value.length >= most && (
        <button type="button" className="button" onClick={() => setMost(most + PAGE)}>
          {t("showMore")}
        </button>
      )}
    </div>
  );
}

function Delivery({ one }: { one: NotificationDelivery }) {
  const tries = t("attempts", { count: one.attempts });
  return (
    <div>
      <p>
        <a href={linkTo("runs", one.run_id)}>{eventLabel(one.type)}</a> · {statusLabel(one.status)}
      </p>
      <p className="muted small">
        {formatTime(one.created_at)} · {tries}
        {one.next_attempt_at !== null && `, ${t("next", { at: formatTime(one.next_attempt_at) })}`}
      </p>
      {one.error !== null && (
        <p className="small">
          <Label text={one.error} maxLength={500} />
        </p>
      )}
    </div>
  );
}
