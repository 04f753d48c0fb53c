/** Whether this browser notifies its reader of gates; it asks for leave only upon this click. */

import { turnNotifications, useNotifications } from "../state/notifications";
import { common as t } from "../text/en/common";

export function NotificationSwitch() {
  const state = useNotifications();
  if (state === "unavailable") return null;
  return (
    <label className="switch">
      <input
        type="checkbox"
        checked={state === "on"}
        disabled={state === "blocked"}
        onChange={(event) => void turnNotifications(event.target.checked)}
      />{" "}
      {t("notifyMe")}
      {state === "blocked" && <span className="muted small"> {t("notifyBlocked")}</span>}
    </label>
  );
}
