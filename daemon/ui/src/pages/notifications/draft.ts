/** A notification as it is filled in, and as it is sent. */

import type { NotificationRule } from "../../api/types";
import type { EventName, Kind } from "./labels";

export interface Draft {
  kind: Kind;
  group: string;
  events: EventName[];
  verticals: string[];
  url: string;
  description: string;
  quiet: boolean;
  from: string;
  to: string;
  timezone: string;
  digest: string;
  enabled: boolean;
}

export function newDraft(kind: Kind): Draft {
  return {
    kind,
    group: "",
    events: ["gate_opened", "gate_reminded", "gate_escalated"],
    verticals: [],
    url: "",
    description: "",
    quiet: false,
    from: "19:00",
    to: "07:30",
    timezone: "",
    digest: "",
    enabled: true,
  };
}

export function draftOf(one: NotificationRule): Draft {
  const quiet = one.quiet_hours;
  return {
    ...newDraft(one.kind),
    group: one.group ?? "",
    events: one.events as EventName[],
    verticals: one.verticals ?? [],
    description: one.description ?? "",
    quiet: quiet !== null,
    ...(quiet === null ? {} : { from: quiet.from, to: quiet.to, timezone: quiet.timezone ?? "" }),
    digest: one.digest ?? "",
    enabled: one.enabled,
  };
}

export function bodyOf(draft: Draft): Record<string, unknown> {
  const { kind, group, events, verticals, url, description, digest, enabled } = draft;
  const timezone = draft.timezone === "" ? null : draft.timezone;
  return {
    kind,
    events,
    enabled,
    group: group === "" ? null : group,
    verticals: verticals.length === 0 ? null : verticals,
    description: description.trim() === "" ? null : description.trim(),
    digest: digest === "" ? null : digest,
    quiet_hours: draft.quiet ? { from: draft.from, to: draft.to, timezone } : null,
    ...(kind === "email" || url.trim() === "" ? {} : { url: url.trim() }),
  };
}
