/** Who may read the runs of a template here and why the reader may not, without a word of any run. */

import { get, getAll, type Problem } from "../../api/client";
import { usePeopleChanges } from "../../api/eventStream";
import { getCanvas, getFunctions, getTemplates } from "../../api/resources";
import type { Delegation, Group, Member, Policy, ReaderRule } from "../../api/types";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { Breadcrumbs, Heading } from "../../components/Heading";
import { Label } from "../../components/Text";
import { useMembers, useNames } from "../../state/members";
import { decides, fills, isNamed, type Setting, type Somebody } from "../../state/readers";
import { linkTo, navigate, useRoute } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { people } from "../../text/en/people";
import { readers as t } from "../../text/en/readers";
import { templates } from "../../text/en/templates";
import { formatList } from "../../text/formats";
import { aRole, isAtLeast, quoted } from "../../text/labels";
import { BreakGlass } from "./BreakGlass";
import { HeldBy } from "./Functions";
import { NarrowForm } from "./NarrowForm";

const GROUPS_MAX = 500;
const DELEGATIONS_MAX = 1_000;

export default function ReadersPage({ vertical }: { vertical: string }) {
  const { query } = useRoute();
  const found = useLoad("templates", getTemplates);
  const { role } = useAccount();
  const listed = (found.value ?? []).map((one) => ({ value: one.vertical, name: one.title }));
  const search = query.size === 0 ? "" : `?${query}`;
  return (
    <>
      <Breadcrumbs href="#/people" text={people("people")} />
      <Heading title={t("title")}>
        <p className="lead">{t("lead")}</p>
      </Heading>
      <div className="account">
        <section className="card whole-row" aria-label={t("title")}>
          <form onSubmit={(event) => event.preventDefault()}>
            <Field
              label={t("process")}
              value={vertical}
              required
              options={[{ value: "", name: t("choose") }, ...listed]}
              onChange={(next) => navigate(linkTo("people", "readers", next) + search)}
            />
          </form>
          {found.problem !== null && <LoadError problem={found.problem} retry={found.reload} />}
        </section>
        {vertical !== "" && <Readers key={vertical} vertical={vertical} />}
        {isAtLeast(role, "admin") && <BreakGlass id={query.get("run") ?? ""} />}
      </div>
    </>
  );
}

interface Found {
  setting: Setting;
  policy: Policy;
  groups: Group[];
  delegations: Delegation[];
}

function useFound(
  vertical: string,
  members: Member[],
): {
  found: Found | null;
  problem: Problem | null;
  reload: () => void;
} {
  const company = `/companies/${encodeURIComponent(useAccount().company.id)}`;
  const { value, problem, reload } = useLoad(`readers of ${vertical}`, async () => {
    const [canvas, policy, functions, groups, delegations] = await Promise.all([
      getCanvas(vertical),
      get<Policy>(`${company}/policy`),
      getFunctions(company),
      getAll<Group>(`${company}/groups?limit=200`, GROUPS_MAX),
      getAll<Delegation>("/delegations?limit=200", DELEGATIONS_MAX),
    ]);
    return { canvas, policy, functions, groups, delegations };
  });
  usePeopleChanges(reload);
  if (value === null) return { found: null, problem, reload };
  const { canvas, policy, functions, groups, delegations } = value;
  const active = members.filter((one) => one.status === "active");
  const solo = policy.solo && active.length === 1;
  const found = { setting: { canvas, functions, solo }, policy, groups, delegations };
  return { found, problem: null, reload };
}

function Readers({ vertical }: { vertical: string }) {
  const members = useMembers().value;
  const account = useAccount();
  const { found, problem, reload } = useFound(vertical, members ?? []);
  if (found === null || members === null)
    return problem === null ? (
      <Loading rows={2} what={t("loading")} />
    ) : (
      <LoadError problem={problem} retry={reload} />
    );
  const { setting, policy, groups } = found;
  const me = somebody(account.member_id ?? "", account.role, groups);
  const narrowed = policy.readers[vertical] ?? null;
  const givers = giversOf(me, vertical, found, members);
  const decider = decides(me, setting) || givers.length > 0;
  const reads = (rule: ReaderRule | null) => rule === null || decider || isNamed(me, rule, setting);
  const rules = { template: setting.canvas.readers, company: narrowed };
  return (
    <>
      <section className="card whole-row" aria-label={t("template")}>
        <Standing rules={rules} reads={reads} lent={decides(me, setting) ? [] : givers} />
        <div className="account">
          {(["template", "company"] as const).map((says) => (
            <div key={says}>
              <h2>{t(says)}</h2>
              {rules[says] === null ? (
                <p>{t(says === "template" ? "everybody" : "notNarrowed")}</p>
              ) : (
                <Rule rule={rules[says]} me={me} decider={decider} found={found} />
              )}
            </div>
          ))}
        </div>
        {setting.canvas.subjects.length > 0 && (
          <p>{t("subjects", { inputs: formatList(setting.canvas.subjects) })}</p>
        )}
        {narrowed !== null && rules.template !== null && (
          <p className="muted small">{t("bothHint")}</p>
        )}
        <p className="muted small">{t("versions")}</p>
      </section>
      {isAtLeast(account.role, "admin") && (
        <NarrowForm
          vertical={vertical}
          setting={setting}
          groups={groups}
          rule={narrowed}
          locksOut={(rule) => reads(narrowed) && !reads(rule)}
          onStored={reload}
        />
      )}
    </>
  );
}

/** Whether the reader may read, and what keeps them from it. */
function Standing({
  rules,
  reads,
  lent,
}: {
  rules: { template: ReaderRule | null; company: ReaderRule | null };
  reads: (rule: ReaderRule | null) => boolean;
  lent: string[];
}) {
  const { template, company } = rules;
  const own = [template, company].every((rule) => reads(rule) || rule?.starter === true);
  if (reads(template) && reads(company))
    return (
      <Note kind="good" title={t("youRead")}>
        {lent.length > 0 && <p>{t("lent", { who: formatList(lent) })}</p>}
      </Note>
    );
  return (
    <Note kind="info" title={t(own ? "youReadOwn" : "youReadNot")}>
      {!reads(template) && <p>{t("byTemplate")}</p>}
      {!reads(company) && <p>{t("byPolicy")}</p>}
    </Note>
  );
}

function Rule({
  rule,
  me,
  decider,
  found: { setting, groups },
}: {
  rule: ReaderRule;
  me: Somebody;
  decider: boolean;
  found: Found;
}) {
  const { canvas, functions } = setting;
  return (
    <ul className="sources">
      <li>
        {templates("decidersRead")} <Mine is={decider} />
      </li>
      {rule.functions.map((id) => {
        const label = functions[id]?.label ?? canvas.functions[id]?.label ?? id;
        return (
          <li key={id}>
            <Label text={templates("functionsRead", { functions: quoted(label) })} />{" "}
            <Mine is={fills(me, id, setting)} />
            <p className="small">{functions[id] !== undefined && <HeldBy one={functions[id]} />}</p>
          </li>
        );
      })}
      {rule.groups.map((name) => (
        <li key={name}>
          <Label text={templates("groupsRead", { groups: name })} />{" "}
          <Mine is={me.groups.has(name)} />
          <p className="muted small">
            <GroupMembers ids={groups.find((one) => one.name === name)?.members ?? []} />
          </p>
        </li>
      ))}
      {rule.role !== null && (
        <li>
          {templates("roleReads", { role: aRole(rule.role) })}{" "}
          <Mine is={isAtLeast(me.role, rule.role)} />
        </li>
      )}
      {rule.starter && (
        <li>
          {templates("starterReads")} <small className="muted">{t("starterYou")}</small>
        </li>
      )}
    </ul>
  );
}

function Mine({ is }: { is: boolean }) {
  return is ? (
    <strong className="small">{t("you")}</strong>
  ) : (
    <small className="muted">{t("notYou")}</small>
  );
}

function GroupMembers({ ids }: { ids: string[] }) {
  const members = useMembers().value ?? [];
  const nameOf = useNames();
  const names = members.filter((one) => ids.includes(one.id)).map((one) => nameOf(one.email));
  if (names.length === 0) return t("groupEmpty");
  return <Label text={t("groupHas", { who: formatList(names) })} maxLength={400} />;
}

function somebody(id: string, role: string, groups: Group[]): Somebody {
  const own = groups.filter((one) => one.members.includes(id)).map((one) => one.name);
  return { id, role, groups: new Set(own) };
}

/** The names of those in whose place the reader may decide at a gate of this now. */
function giversOf(me: Somebody, vertical: string, found: Found, members: Member[]): string[] {
  const now = Date.now();
  return found.delegations
    .filter(
      (one) =>
        one.to === me.id &&
        Date.parse(one.from) <= now &&
        now < Date.parse(one.until) &&
        (one.verticals === null || one.verticals.includes(vertical)),
    )
    .flatMap((one) => members.filter(({ id, status }) => id === one.giver && status === "active"))
    .filter((one) => decides(somebody(one.id, one.role, found.groups), found.setting))
    .map((one) => one.name ?? one.email);
}
