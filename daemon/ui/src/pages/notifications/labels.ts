/** The words of notifications. */

import type { NotificationDelivery, NotificationRule } from "../../api/types";

export type Kind = NotificationRule["kind"];
export type EventName =
  | "gate_opened"
  | "gate_reminded"
  | "gate_escalated"
  | "gate_blocked"
  | "gate_decided"
  | "run_failed";

export const KIND_LABELS: Record<Kind, string> = {
  email: "E-mail",
  slack: "Slack",
  teams: "Microsoft Teams",
  webhook: "Webhook",
};

export const EVENT_LABELS: Record<EventName, { name: string; hint: string }> = {
  gate_opened: { name: "Decision needed", hint: "A gate opened at which you may decide" },
  gate_reminded: { name: "Reminder", hint: "Such a gate is still open" },
  gate_escalated: { name: "Escalated", hint: "Such a gate is past its deadline" },
  gate_decided: { name: "Decided", hint: "Somebody else or a deadline decided" },
  gate_blocked: {
    name: "Blocked",
    hint: "Too few people can decide; admins and who started the run are told",
  },
  run_failed: {
    name: "Failed",
    hint: "A run failed; admins, who started it and who decided in it are told",
  },
};

export const DIGEST_LABELS: Record<string, string> = {
  "": "Send each at once",
  PT1H: "Hourly digest",
  P1D: "Daily digest at 08:00",
};

export const STATUS_LABELS: Record<NotificationDelivery["status"], string> = {
  pending: "Waiting",
  delivered: "Delivered",
  failed: "Failed",
  skipped: "Not needed any more",
};

export function eventLabel(type: string): string {
  return EVENT_LABELS[type as EventName]?.name ?? type;
}

/** “Quiet 22:00 to 07:00 (Europe/Vienna) · Hourly digest”. */
export function scheduleLabel(one: NotificationRule): string {
  const quiet = one.quiet_hours;
  const zone = quiet?.timezone == null ? "" : ` (${quiet.timezone})`;
  return [
    ...(quiet === null ? [] : [`Quiet ${quiet.from} to ${quiet.to}${zone}`]),
    ...(one.digest === null ? [] : [DIGEST_LABELS[one.digest] ?? one.digest]),
  ].join(" · ");
}
