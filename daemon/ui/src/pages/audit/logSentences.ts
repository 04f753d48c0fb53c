/** The company log in sentences: sign-ins, and changes of people, keys, policy and connectors. */

import { equal } from "../../api/json";
import { formatTime, humanize } from "../../text/labels";
import { joinNames, withArticle } from "../../text/sentences";
import type { LogEvent, MemberForm, Properties } from "./companyLog";

/** The names of members, by e-mail address and by id. */
export interface Names {
  byEmail: (email: string) => string;
  byId: (id: string) => string | null;
}

// As the pages of connectors and people label them.
const PROPERTY_LABELS = new Map([
  ["base_url", "Base URL"],
  ["reversible", "Mode"],
  ["timeout_s", "Timeout (seconds)"],
  ["url", "URL"],
  ["second_factor_from", "Second factor needed from the role"],
  ["templates", "Templates in use"],
  ["solo", "The only person of the company decides alone"],
  ["archive_after_days", "Days after which runs are archived"],
]);
const SIGN_IN_WAYS: Record<string, string> = {
  sso: " by single sign-on",
  invitation: " after joining",
  switch: ", coming from another company",
};
const SECOND_FACTOR_CHANGES: Record<string, string> = {
  begun: "began to set up a second factor",
  confirmed: "set up a second factor",
  recovery_code_used: "used a recovery code in place of the second factor",
  removed: "removed the second factor",
};

/** A log event as a predicate. */
export function describeLogEvent(event: LogEvent, names: Names): string {
  const name = `“${event.name ?? ""}”`;
  switch (event.type) {
    case "registered":
      return "registered the company";
    case "logged_in":
      return `signed in${event.kind === "api" ? " as an API client" : ""}${SIGN_IN_WAYS[event.via ?? ""] ?? ""}`;
    case "logged_out":
      return "signed out";
    case "session_ended":
      return event.reason === "reused"
        ? "lost a session: its renewal was used twice, perhaps by somebody else"
        : "ended a session";
    case "sessions_ended":
      return event.by === "" || event.via === "operator"
        ? `ended the sessions of ${names.byId(event.user ?? "") ?? "a person"}`
        : "ended all other sessions";
    case "password_reset_requested":
      return "asked for a link for a new password";
    case "password_changed":
      return event.via === "reset"
        ? "set a new password with a mailed link"
        : "changed the password";
    case "login_refused":
      return event.reason === "second_factor"
        ? "failed to sign in: wrong code of the second factor"
        : "failed to sign in: wrong password";
    case "member_changed":
      return describeMember(event, names);
    case "group_changed":
      return `${changeVerb(event)} the group “${event.group ?? ""}”${event.via === "sso" ? " by single sign-on" : ""}`;
    case "name_changed":
      return event.name == null ? "removed their name" : `changed their name to ${name}`;
    case "subject_linked":
      return "was linked to an account of single sign-on";
    case "policy_changed":
      return "changed the policy of the company";
    case "hold_changed":
      return `${event.after === null ? "released" : "put under legal hold"} the run ${event.run_id ?? ""}`;
    case "run_redacted":
      return `redacted values of the run ${event.run_id ?? ""}`;
    case "run_archived":
      return `archived the run ${event.form?.run_id ?? ""}`;
    case "calendar_changed":
      return "changed the business days of the company";
    case "template_published":
      return `published ${whichVersion(event)}`;
    case "template_retired":
      return `retired ${whichVersion(event)}`;
    case "delegation_made":
      return `let ${memberName(event.to, names)} decide as ${memberName(event.giver, names)}`;
    case "delegation_ended":
      return `ended that ${memberName(event.to, names)} may decide as ${memberName(event.giver, names)}`;
    case "second_factor_changed":
      return (
        SECOND_FACTOR_CHANGES[event.change ?? ""] ??
        `reset the second factor of ${names.byId(event.user ?? "") ?? "a member"}`
      );
    case "api_key_created":
      return `made the API key ${name} of ${withArticle(event.kind ?? "machine")} with the role ${event.role ?? ""}`;
    case "api_key_deleted":
      return `deleted the API key ${name}`;
    case "connector_changed":
      return `${changeVerb(event)} the connector of “${event.tool_id ?? ""}”`;
    case "webhook_changed":
      return `${changeVerb(event)} a webhook`;
    case "notification_changed":
      return `${changeVerb(event)} a notification`;
    case "adopted":
      return "began to record the accounts and secrets that an earlier version kept";
    default:
      return humanize(event.type);
  }
}

function whichVersion(event: LogEvent): string {
  const { template_version: version, vertical = "a process" } = event;
  return version === undefined ? `a version of ${vertical}` : `version ${version} of ${vertical}`;
}

function describeMember(event: LogEvent, names: Names): string {
  const after = event.after as MemberForm;
  const before = event.before as MemberForm | null;
  const self = after.email.toLowerCase() === event.by.toLowerCase();
  const whom = names.byEmail(after.email);
  if (after.status === "removed") {
    if (self) return "left the company";
    return before?.status === "pending" ? `withdrew the invitation of ${whom}` : `removed ${whom}`;
  }
  if (after.status === "pending")
    return `invited ${whom}${before?.status === "pending" ? " again" : ""} as ${withArticle(after.role)}`;
  if (before?.status !== "active") {
    const joined = `joined as ${withArticle(after.role)}${SIGN_IN_WAYS[event.via === "sso" ? "sso" : ""] ?? ""}`;
    return self ? joined : `let ${whom} join as ${withArticle(after.role)}`;
  }
  if (after.role === "owner") return `handed the company over to ${whom}`;
  if (before.role === "owner") return `became ${withArticle(after.role)}, no longer the owner`;
  return `changed the role of ${whom} from ${before.role} to ${after.role}`;
}

/** The changed properties of a log event. */
export function describeChanges(event: LogEvent, names: Names): string[] {
  switch (event.type) {
    case "group_changed":
      return groupChanges(event, names);
    case "api_key_created":
      return [
        `Begins with ${event.prefix ?? ""}`,
        ...(event.expires_at == null ? [] : [`Expires ${formatTime(event.expires_at)}`]),
      ];
    case "subject_linked":
      return [`Provider: ${event.issuer ?? ""}`, `Subject: ${event.subject ?? ""}`];
    case "connector_changed":
    case "webhook_changed":
    case "notification_changed":
    case "policy_changed":
    case "hold_changed":
    case "calendar_changed":
      return propertyChanges(event);
    case "run_redacted":
      return [`Values: ${(event.pointers ?? []).join(", ")}`, `Reason: ${event.reason ?? ""}`];
    case "run_archived":
      return event.form === undefined ? [] : [`File: ${event.form.sha256}`];
    case "delegation_made":
      return delegationScope(event);
    default:
      return [];
  }
}

function memberName(id: string | undefined, names: Names): string {
  return names.byId(id ?? "") ?? "a former member";
}

function delegationScope(event: LogEvent): string[] {
  const { begins, ends, verticals = [] } = event;
  return [
    ...(begins === undefined || ends === undefined
      ? []
      : [`From ${formatTime(begins)} until ${formatTime(ends)}`]),
    ...(verticals.length === 0 ? [] : [`Only ${verticals.join(", ")}`]),
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
      : [`${title}: ${joinNames(ids.map((id) => names.byId(id) ?? "a former member"))}`];
  return [
    ...line(
      "Added",
      after.filter((id) => !before.includes(id)),
    ),
    ...line(
      "Removed",
      before.filter((id) => !after.includes(id)),
    ),
  ];
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
          ? `${propertyLabel(name)} was ${propertyText(name, before[name])}`
          : `${propertyLabel(name)}: ${propertyText(name, before[name])} → ${propertyText(name, after[name])}`,
    );
  return event.secret === undefined || event.secret === "none" || event.secret === "kept"
    ? found
    : [...found, `Secret: ${event.secret}`];
}

function changeVerb(event: LogEvent): string {
  return event.after === null ? "removed" : event.before === null ? "added" : "changed";
}

function propertyLabel(name: string): string {
  return PROPERTY_LABELS.get(name) ?? humanize(name);
}

function propertyText(name: string, value: unknown): string {
  if (name === "reversible") return value === true ? "live" : "shadowed";
  if (value === undefined || value === null || value === "") return "none";
  return typeof value === "string"
    ? value
    : typeof value === "boolean"
      ? value
        ? "yes"
        : "no"
      : JSON.stringify(value);
}
