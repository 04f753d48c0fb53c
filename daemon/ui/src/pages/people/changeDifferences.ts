/** What a change that waits would change, beside what stands now. */

import { equal } from "../../api/json";
import { get, getAll, send, toProblem } from "../../api/client";
import type {
  GatedChange,
  Policy,
  ReaderRule,
  TemplateVersion,
  TemplateVersionDetail,
} from "../../api/types";
import type { Difference, StepDifference } from "../../components/Differences";
import { actions as ruleField } from "../../text/en/actions";
import { changes as t } from "../../text/en/changes";
import { formatList } from "../../text/formats";
import { propertyLabel, propertyText } from "../audit/logSentences";
import { compare, compareDocuments } from "../templates/editor/draft/comparison";
import type { Draft } from "../templates/editor/draft/document";
import { pathOf } from "../templates/editor/draft/useDraft";
import { namedTexts } from "../templates/Offices";

type Members = Record<string, unknown>;

export interface WhatChanges {
  fields: Difference[];
  steps: StepDifference[];
  /** Whether a secret comes with it, which nobody is shown. */
  secret: boolean;
  /** The versions that can be compared; `stale` where the draft is another by now. */
  draft: { from: string; stale: boolean } | null;
}

const NOTHING: WhatChanges = { fields: [], steps: [], secret: false, draft: null };
/** What a stored policy leaves out. */
const DEFAULTS = {
  templates: [],
  passwords: true,
  functions: "optional",
  change_gates: null,
  readers: {},
  actions: { outcome_within: "PT10M" },
};

export async function whatChanges(change: GatedChange, company: string): Promise<WhatChanges> {
  const { act, asked, what } = change;
  if (act === "publish_laxer") return ofVersion(what, asked);
  if (act === "action_rule") return { ...NOTHING, fields: ofRule(asked) };
  if (act === "go_live") {
    const server = asked["server"] as Members | undefined;
    const now = server === undefined ? `/connectors/${encodeURIComponent(what)}` : serverPath(what);
    const before = await storedNow(now);
    const after = server ?? (asked["connector"] as Members);
    const known = Object.fromEntries(Object.keys(after).map((name) => [name, before?.[name]]));
    return {
      ...NOTHING,
      fields: differing(before === null ? {} : known, after, propertyFields),
      secret: (asked["secret"] ?? null) !== null,
    };
  }
  const before = await get<Policy>(`/companies/${encodeURIComponent(company)}/policy`);
  const after = { ...DEFAULTS, ...(asked["policy"] as Members) };
  return { ...NOTHING, fields: differing({ ...before }, after, policyFields) };
}

/** A server's tools are named `server/*`. */
const serverPath = (what: string) =>
  `/mcp-servers/${encodeURIComponent(what.replace(/\/\*$/, ""))}`;

async function storedNow(path: string): Promise<Members | null> {
  try {
    return await get<Members>(path);
  } catch (error) {
    if (toProblem(error).status === 404) return null;
    throw error;
  }
}

const OF_RULES = ["tool", "server", "agent", "model", "when", "budget", "expires"] as const;

/** The rule that is proposed, and how many of the agent's newest calls it would have allowed. */
function ofRule(asked: Members): Difference[] {
  const rule = asked["rule"] as Members;
  const through = (asked["through"] as unknown[]).length;
  return [
    ...OF_RULES.filter((name) => (rule[name] ?? null) !== null).map((name) => ({
      name: ruleField.code("field", name),
      before: "",
      after: propertyText(name, rule[name]),
    })),
    { name: t("letThrough"), before: "", after: String(through) },
  ];
}

/** The draft, if it is still the one that was asked for, beside the newest version. */
async function ofVersion(vertical: string, asked: Members): Promise<WhatChanges> {
  const draft = await send<Draft>("GET", pathOf(vertical, "draft")).catch((error: unknown) => {
    if (toProblem(error).status === 404) return null;
    throw error;
  });
  const [newest] = await getAll<TemplateVersion>(`${pathOf(vertical, "versions")}/?limit=1`, 1);
  const from = String(newest?.version ?? "");
  const digest = draft?.etag?.replaceAll('"', "") ?? "";
  if (draft === null || newest === undefined || asked["draft"] !== `sha256:${digest}`)
    return { ...NOTHING, draft: { from, stale: true } };
  const version = await get<TemplateVersionDetail>(pathOf(vertical, "versions", from));
  const before = version.document as unknown as Draft;
  return {
    ...NOTHING,
    fields: compareDocuments(before, draft.value),
    steps: compare(before, draft.value),
    draft: { from, stale: false },
  };
}

type Fields = (name: string, before: unknown, after: unknown) => Difference[];

function differing(before: Members, after: Members, fields: Fields): Difference[] {
  return Object.keys({ ...before, ...after })
    .filter((name) => !equal(before[name] ?? null, after[name] ?? null))
    .flatMap((name) => fields(name, before[name], after[name]));
}

function propertyFields(name: string, before: unknown, after: unknown): Difference[] {
  const said = (value: unknown) => (value === undefined ? "" : propertyText(name, value));
  return [{ name: propertyLabel(name), before: said(before), after: said(after) }];
}

function policyFields(name: string, before: unknown, after: unknown): Difference[] {
  if (name === "readers")
    return differing(before as Members, after as Members, (vertical, was, now) => [
      { name: t("readersOf", { vertical }), before: ruleText(was), after: ruleText(now) },
    ]);
  if (name === "functions" || name === "change_gates" || name === "templates") {
    const said = name === "functions" ? requirement : name === "templates" ? listed : gatesText;
    return [{ name: propertyLabel(name), before: said(before), after: said(after) }];
  }
  return propertyFields(name, before, after);
}

function requirement(value: unknown): string {
  return t.code("functions", String(value));
}

function listed(value: unknown): string {
  const names = value as string[];
  return names.length === 0 ? propertyText("templates", null) : formatList(names);
}

export function gatesText(value: unknown): string {
  const gates = value as Policy["change_gates"];
  if (gates === null) return propertyText("change_gates", null);
  const acts = formatList(gates.acts.map((act) => t.code("gate", act)));
  const name = gates.function ?? null;
  return name === null ? acts : t("byFunction", { acts, name });
}

/** Who reads by a rule of the company: whom it names, and who decides there. */
function ruleText(value: unknown): string {
  if (value === undefined) return t("asTemplate");
  const none: ReaderRule = { functions: [], groups: [], role: null, starter: false };
  const rule = { ...none, ...(value as Partial<ReaderRule>) };
  return [t("deciders"), ...namedTexts(rule, {})].join("; ");
}
