/** Members and pending invitations: invited, given roles, removed. */

import { type FormEvent, useState } from "react";
import { get, post, type Problem, remove, send, toProblem } from "../../api/client";
import type { AuthOptions, InvitedMember, Member } from "../../api/types";
import { FormProblem } from "../../components/FieldErrors";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { PersonName } from "../../components/record/PersonName";
import { Label } from "../../components/Text";
import { useMembers } from "../../state/members";
import { refreshAccount, useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { formatTime, isAtLeast, roleLabel, ROLES } from "../../text/labels";
import { MemberDialog, type MemberQuestion } from "./MemberDialog";
import { people as t } from "../../text/en/people";

const ASSIGNABLE = ROLES.filter((role) => role !== "owner");

export function Members({ manages }: { manages: boolean }) {
  const { value, problem, reload } = useMembers();
  const [failed, setFailed] = useState<Problem | null>(null);
  const [question, setQuestion] = useState<MemberQuestion | null>(null);
  const [invited, setInvited] = useState<InvitedMember | null>(null);
  const account = useAccount();
  const path = `/companies/${encodeURIComponent(account.company.id)}/members`;
  const act = (doing: Promise<unknown>) => {
    setFailed(null);
    doing
      .catch((error: unknown) => setFailed(toProblem(error)))
      .finally(() => {
        reload();
        void refreshAccount();
      });
  };
  const invite = (email: string, role: string) =>
    post<InvitedMember>(path, { email, role }).then((one) => {
      setInvited(one);
      reload();
    });
  return (
    <section className="card whole-row">
      <h2>{t("members")}</h2>
      {failed !== null && <Note kind="bad" title={failed.message} />}
      {invited !== null && <InvitationLink invited={invited} />}
      {value === null ? (
        problem === null ? (
          <Loading rows={2} what={t("loadingMembers")} />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : (
        <ul className="sessions" aria-label={t("members")}>
          {value.map((member) => (
            <MemberItem
              key={member.id}
              member={member}
              manages={manages && isAtLeast(account.role, member.role)}
              onRole={(role) => act(send("PATCH", `${path}/${member.id}`, { body: { role } }))}
              onRemove={() => setQuestion({ what: "remove", member })}
              onOwn={() => setQuestion({ what: "own", member })}
              onAgain={() => act(invite(member.email, member.role))}
            />
          ))}
        </ul>
      )}
      {manages && <InviteForm invite={invite} role={account.role} />}
      {question !== null && (
        <MemberDialog
          question={question}
          onYes={() => {
            const { what, member } = question;
            if (what === "remove") act(remove(`${path}/${member.id}`));
            else act(post(path.replace(/members$/, "owner"), { member_id: member.id }));
            setQuestion(null);
          }}
          onNo={() => setQuestion(null)}
        />
      )}
    </section>
  );
}

function MemberItem({
  member,
  manages,
  onRole,
  onRemove,
  onOwn,
  onAgain,
}: {
  member: Member;
  manages: boolean;
  onRole: (role: string) => void;
  onRemove: () => void;
  onOwn: () => void;
  onAgain: () => void;
}) {
  const { member_id: own, role } = useAccount();
  const name = member.name ?? member.email;
  const pending = member.status === "pending";
  const fixed = member.role === "owner";
  return (
    <li>
      <div>
        <p>
          <strong>
            <Label text={name} />
          </strong>
          {member.id === own && ` ${t("youMark")}`}
        </p>
        <p className="muted small">
          <Label text={member.email} />
          {pending && `, ${t("invited")}`}
          {pending && member.invited_by !== null && (
            <> {t("byWhom", { who: <PersonName by={member.invited_by} /> })}</>
          )}
        </p>
      </div>
      <div className="member-actions">
        {manages && !fixed && !pending ? (
          <select
            aria-label={t("roleOf", { name })}
            value={member.role}
            onChange={(event) => onRole(event.target.value)}
          >
            {ASSIGNABLE.map((role) => (
              <option key={role} value={role}>
                {roleLabel(role)}
              </option>
            ))}
          </select>
        ) : (
          <span>{roleLabel(member.role)}</span>
        )}
        {manages && pending && (
          <button type="button" className="button" onClick={onAgain}>
            {t("inviteAgain")}
            <span className="visually-hidden"> {name}</span>
          </button>
        )}
        {role === "owner" && member.status === "active" && member.id !== own && (
          <button type="button" className="button" onClick={onOwn}>
            {t("makeOwner")}
            <span className="visually-hidden"> {name}</span>
          </button>
        )}
        {!fixed && (manages || member.id === own) && (
          <button type="button" className="button" onClick={onRemove}>
            {pending ? t("withdraw") : member.id === own ? t("leave") : t("remove")}
            <span className="visually-hidden"> {name}</span>
          </button>
        )}
      </div>
    </li>
  );
}

/** The link of a new invitation, which is shown once. */
function InvitationLink({ invited }: { invited: InvitedMember }) {
  const { value: options } = useLoad("sign-in options", () => get<AuthOptions>("/auth/options"));
  const link = `${location.origin}/#/invitations/${invited.invitation.token}`;
  return (
    <Note
      kind="good"
      title={t(options?.password_reset === true ? "inviteMailed" : "inviteLink", {
        email: invited.email,
        until: formatTime(invited.invitation.expires_at),
      })}
    >
      <p>
        <code className="wrap">{link}</code>
      </p>
      <p>
        <button
          type="button"
          className="button"
          onClick={() => void navigator.clipboard?.writeText(link)}
        >
          {t("copyLink")}
        </button>
      </p>
    </Note>
  );
}

function InviteForm({
  invite,
  role: own,
}: {
  invite: (email: string, role: string) => Promise<void>;
  role: string;
}) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState("member");
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setProblem(null);
    invite(email, role).then(
      () => setEmail(""),
      (error: unknown) => setProblem(toProblem(error)),
    );
  };
  return (
    <form onSubmit={submit} noValidate>
      <h3>{t("inviteSomebody")}</h3>
      <FormProblem problem={problem} />
      <Field
        hint={t("inviteHint")}
        label={t("email")}
        type="email"
        value={email}
        onChange={setEmail}
        required
        error={problem?.fields.get("/email") ?? ""}
      />
      <Field
        label={t("role")}
        value={role}
        onChange={setRole}
        required
        options={ASSIGNABLE.filter((one) => isAtLeast(own, one)).map((one) => ({
          value: one,
          name: roleLabel(one),
        }))}
      />
      <button type="submit" className="button primary">
        {t("invite")}
      </button>
    </form>
  );
}
