/** The company log in sentences: sign-ins, and changes of people, keys, policy and connectors. */

import { equal, stringify } from "../../api/json";
import { audit as t } from "../../text/en/audit";
import { formatList } from "../../text/formats";
import { aRole, formatTime, humanize, quoted, roleLabel } from "../../text/labels";
import type { LogEvent, MemberForm, Properties } from "./companyLog";

/** The names of members, by e-mail address and by id. */
export interface Names {
  byEmail: (email: string) => string;
  byId: (id: string) => string | null;
}

/** A log event as a predicate. */
export function describeLogEvent(event: LogEvent, names: Names): string {
  const name = quoted(event.name ?? "");
  switch (event.type) {
    case "logged_in":
      return viaText(t(event.kind === "api" ? "signedInApi" : "signedIn"), event.via);
    case "session_ended":
      return t(event.reason === "reused" ? "lostSession" : "endedSession");
    case "sessions_ended":
      return event.by === "" || event.via === "operator"
        ? t("endedSessionsOf", { who: names.byId(event.user ?? "") ?? t("aPerson") })
        : t("endedOthers");
    case "password_changed":
      return t(event.via === "reset" ? "passwordReset" : "passwordChanged");
    case "login_refused":
      return t(event.reason === "second_factor" ? "refusedFactor" : "refusedPassword");
    case "member_changed":
      return describeMember(event, names);
    case "group_changed":
      return viaText(
        t(`group.${changeOf(event)}`, { group: event.group ?? "" }),
        event.via === "sso" ? "sso" : "",
      );
    case "name_changed":
      return event.name == null ? t("removedName") : t("changedName", { name });
    case "hold_changed":
      return t(event.after === null ? "released" : "held", { run: event.run_id ?? "" });
    case "run_redacted":
      return t("redacted", { run: event.run_id ?? "" });
    case "run_archived":
      return t("archived", { run: event.form?.run_id ?? "" });
    case "template_published":
      return t("published", { what: whichVersion(event) });
    case "template_retired":
      return t("retired", { what: whichVersion(event) });
    case "delegation_made":
    case "delegation_ended":
      return t(`event.${event.type}`, {
        to: memberName(event.to, names),
        giver: memberName(event.giver, names),
      });
    case "second_factor_changed":
      return t.code(
        "factor",
        event.change ?? "",
        t("factorReset", { who: names.byId(event.user ?? "") ?? t("aMember") }),
      );
    case "api_key_created":
      return t("keyMade", {
        name,
        kind: t.code("keyOf", event.kind ?? "machine"),
        role: roleName(event.role ?? ""),
      });
    case "api_key_deleted":
      return t("keyDeleted", { name });
    case "connector_changed":
      return t(`connector.${changeOf(event)}`, { tool: event.tool_id ?? "" });
    case "webhook_changed":
      return t(`webhook.${changeOf(event)}`);
    case "history_rewound":
      return t("rewound", { count: event.commits ?? 0 });
    case "withheld":
      return t("withheld", { what: humanize(event.withheld ?? "") });
    case "notification_changed":
      return t(`notification.${changeOf(event)}`);
    default:
      return t.code("did", event.type, humanize(event.type));
  }
}

/** A predicate with the way in which it was done, where that is worth a word. */
function viaText(did: string, via: string | undefined): string {
  if (via === "sso" || via === "invitation" || via === "switch") return t(`via.${via}`, { did });
  return did;
}

/** A role within a sentence. */
function roleName(role: string): string {
  return t.code("roleName", role, roleLabel(role));
}

function whichVersion(event: LogEvent): string {
  const { template_version: version, vertical = t("aProcess") } = event;
  return version === undefined
    ? t("aVersion", { vertical })
    : t("versionOf", { version: String(version), vertical });
}

function describeMember(event: LogEvent, names: Names): string {
  const after = event.after as MemberForm;
  const before = event.before as MemberForm | null;
  const self = after.email.toLowerCase() === event.by?.toLowerCase();
  const who = names.byEmail(after.email);
  const role = aRole(after.role);
  if (after.status === "removed") {
    if (self) return t("member.left");
    return t(before?.status === "pending" ? "member.withdrawn" : "member.removed", { who });
  }
  if (after.status === "pending")
    return t(before?.status === "pending" ? "member.invitedAgain" : "member.invited", {
      who,
      role,
    });
  if (before?.status !== "active")
    return self
      ? viaText(t("member.joined", { role }), event.via === "sso" ? "sso" : "")
      : t("member.letJoin", { who, role });
  if (after.role === "owner") return t("member.handedOver", { who });
  if (before.role === "owner") return t("member.became", { role });
  return t("member.roleChanged", { who, from: roleName(before.role), to: roleName(after.role) });
}

/** The changed properties of a log event. */
export function describeChanges(event: LogEvent, names: Names): string[] {
  switch (event.type) {
    case "group_changed":
      return groupChanges(event, names);
    case "functions_changed":
      return functionChanges(event, names);
    case "api_key_created":
      return [
        t("beginsWith", { prefix: event.prefix ?? "" }),
        ...(event.expires_at == null ? [] : [t("expires", { at: formatTime(event.expires_at) })]),
      ];
    case "subject_linked":
      return [
        t("provider", { issuer: event.issuer ?? "" }),
        t("subject", { subject: event.subject ?? "" }),
      ];
    case "connector_changed":
    case "webhook_changed":
    case "notification_changed":
    case "policy_changed":
    case "hold_changed":
    case "autonomy_changed":
    case "calendar_changed":
      return propertyChanges(event);
    case "run_redacted":
      return [
        t("redactedValues", { pointers: (event.pointers ?? []).join(", ") }),
        t("redactedWhy", { reason: event.reason ?? "" }),
      ];
    case "run_archived":
      return event.form === undefined ? [] : [t("file", { sha256: event.form.sha256 })];
    case "delegation_made":
      return delegationScope(event);
    default:
      return [];
  }
}

function memberName(id: string | undefined, names: Names): string {
  return names.byId(id ?? "") ?? t("formerMember");
}

function delegationScope(event: LogEvent): string[] {
  const { begins, ends, verticals = [] } = event;
  return [
    ...(begins === undefined || ends === undefined
      ? []
      : [t("span", { from: formatTime(begins), until: formatTime(ends) })]),
    ...(verticals.length === 0 ? [] : [t("only", { what: verticals.join(", ") })]),
  ];
}

function groupChanges(event: LogEvent, names: Names): string[] {
  const [before, after] = [event.before, event.after].map((ids) => (ids ?? []) as string[]) as [
    string[],
    string[],
  ];
  const line = (title: string, ids: string[]) =>
    ids.length === 0
      ? []
      : [`${title}: ${formatList(ids.map((id) => names.byId(id) ?? t("formerMember")))}`];
  return [
    ...line(
      t("added"),
      after.filter((id) => !before.includes(id)),
    ),
    ...line(
      t("removed"),
      before.filter((id) => !after.includes(id)),
    ),
  ];
}

interface Binding {
  groups: string[];
  members: string[];
}

/** “medical-director: nobody → physicians, Ada Marsh”, for each function that is filled anew. */
function functionChanges(event: LogEvent, names: Names): string[] {
  const [before, after] = [event.before, event.after].map(
    (one) => (one as { functions?: Record<string, Binding> } | null | undefined)?.functions ?? {},
  ) as [Record<string, Binding>, Record<string, Binding>];
  const who = (one: Binding | undefined) =>
    one === undefined
      ? t("nobody")
      : [...one.groups, ...one.members.map((id) => memberName(id, names))].join(", ");
  return Object.keys({ ...before, ...after })
    .filter((id) => !equal(before[id] ?? null, after[id] ?? null))
    .map((id) => `${id}: ${who(before[id])} → ${who(after[id])}`);
}

function propertyChanges(event: LogEvent): string[] {
  const before = event.before as Properties | null | undefined;
  const after = event.after as Properties | null | undefined;
  if (before === undefined || after === undefined) return [];
  const found = Object.keys({ ...before, ...after })
    .filter((name) => name !== "version" && name !== "tool_id")
    .filter((name) => !equal(before?.[name] ?? null, after?.[name] ?? null))
    .map((name) =>
      before === null
        ? `${propertyLabel(name)}: ${propertyText(name, after?.[name])}`
        : after === null
          ? t("was", { name: propertyLabel(name), value: propertyText(name, before[name]) })
          : `${propertyLabel(name)}: ${propertyText(name, before[name])} → ${propertyText(name, after[name])}`,
    );
  return event.secret === undefined || event.secret === "none" || event.secret === "kept"
    ? found
    : [...found, t("secret", { state: t.code("secretState", event.secret) })];
}

function changeOf(event: LogEvent): "added" | "changed" | "removed" {
  return event.after === null ? "removed" : event.before === null ? "added" : "changed";
}

/** As the pages of connectors and people label it. */
export function propertyLabel(name: string): string {
  return t.code("property", name, humanize(name));
}

export function propertyText(name: string, value: unknown): string {
  if (name === "reversible") return t(value === true ? "live" : "shadowed");
  if (value === undefined || value === null || value === "") return t("none");
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  if (name === "second_factor_from") return roleLabel(String(value));
  // The log has the path of a webhook's URL sealed: that is for the service to read.
  if (name === "url") return String(value).replace(/#sealed:.*$/, "");
  return typeof value === "string" ? value : stringify(value);
}
