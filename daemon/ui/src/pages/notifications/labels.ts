/** The words of notifications. */

import { notifications as t } from "../../text/en/notifications";
import type { NotificationDelivery, NotificationRule } from "../../api/types";

export type Kind = NotificationRule["kind"];
export const KINDS: Kind[] = ["email", "slack", "teams", "webhook"];
export const EVENTS = [
  "gate_opened",
  "gate_reminded",
  "gate_escalated",
  "gate_decided",
  "gate_blocked",
  "question_answered",
  "clock_warned",
  "clock_breached",
  "glass_broken",
  "run_failed",
] as const;
export type EventName = (typeof EVENTS)[number];
/** At once, hourly or daily. */
export const DIGESTS = ["", "PT1H", "P1D"];

export function kindLabel(kind: Kind): string {
  return t.code("kind", kind);
}

export function statusLabel(status: NotificationDelivery["status"]): string {
  return t.code("status", status);
}

export function eventLabel(type: string): string {
  return t.code("event", type);
}

export function digestLabel(digest: string): string {
  return t.code("digest", digest === "" ? "once" : digest, digest);
}

/** “Quiet 22:00 to 07:00 (Europe/Vienna) · Hourly digest”. */
export function scheduleLabel(one: NotificationRule): string {
  const quiet = one.quiet_hours;
  const zone = quiet?.timezone == null ? "" : ` (${quiet.timezone})`;
  return [
    ...(quiet === null ? [] : [t("quiet", { from: quiet.from, to: quiet.to }) + zone]),
    ...(one.digest === null ? [] : [digestLabel(one.digest)]),
  ].join(" · ");
}
