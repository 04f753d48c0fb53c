/** Whether this browser notifies its reader of gates; it asks for leave only upon this click. */

import { turnNotifications, useNotifications } from "../state/notifications";

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
      Notify me of new gates
      {state === "blocked" && (
        <span className="muted small"> Your browser blocks notifications of this page.</span>
      )}
    </label>
  );
}
