/** Readers of a template as the company narrows them, by its policy. */

import { type FormEvent, useState } from "react";
import { get, type Problem, send, toProblem } from "../../api/client";
import { equal } from "../../api/json";
import type { Group, Policy, ReaderRule } from "../../api/types";
import { Note } from "../../components/Feedback";
import { Check, Field } from "../../components/Field";
import { FormProblem } from "../../components/FieldErrors";
import { Label } from "../../components/Text";
import type { Setting } from "../../state/readers";
import { useAccount } from "../../state/session";
import { common } from "../../text/en/common";
import { people } from "../../text/en/people";
import { readers as t } from "../../text/en/readers";
import { roleLabel, ROLES } from "../../text/labels";

const NOBODY: ReaderRule = { functions: [], groups: [], role: null, starter: false };

export function NarrowForm({
  vertical,
  setting: { canvas, functions },
  groups,
  rule: stored,
  locksOut,
  onStored,
}: {
  vertical: string;
  setting: Setting;
  groups: Group[];
  rule: ReaderRule | null;
  /** Whether the reader would read no more by a rule. */
  locksOut: (rule: ReaderRule | null) => boolean;
  onStored: () => void;
}) {
  const path = `/companies/${encodeURIComponent(useAccount().company.id)}/policy`;
  const [rule, setRule] = useState<ReaderRule | null>(stored);
  const [begun, setBegun] = useState(stored);
  const [state, setState] = useState<"" | "busy" | "done" | Problem>("");
  const meanwhile = !isSame(begun, stored);
  if (meanwhile && (isSame(rule, begun) || isSame(rule, stored))) {
    setBegun(stored);
    setRule(stored);
  }
  const change = (members: Partial<ReaderRule>) => setRule({ ...(rule ?? NOBODY), ...members });
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (state === "busy") return;
    setState("busy");
    try {
      // Of other templates it stays as somebody else may have set it meanwhile.
      const { [vertical]: _before, ...others } = (await get<Policy>(path)).readers;
      const readers = rule === null ? others : { ...others, [vertical]: rule };
      await send<Policy>("PUT", path, { body: { readers } });
      setState("done");
      onStored();
    } catch (error) {
      setState(toProblem(error));
    }
  };
  const offices = [...new Set([...Object.keys(canvas.functions), ...(stored?.functions ?? [])])];
  const teams = [...new Set([...groups.map((one) => one.name), ...(stored?.groups ?? [])])];
  return (
    <section className="card" aria-label={t("narrow")}>
      <h2>{t("narrow")}</h2>
      <p className="muted small gap">{t("narrowHint")}</p>
      <form onSubmit={(event) => void save(event)} noValidate>
        <FormProblem problem={typeof state === "object" ? state : null} />
        {state === "done" && <Note kind="good" title={t("saved")} />}
        <Check
          label={t("narrowed")}
          hint={t("decidersToo")}
          checked={rule !== null}
          onChange={(on) => setRule(on ? (stored ?? NOBODY) : null)}
        />
        {rule !== null && (
          <>
            <Named
              title={t("functions")}
              none={t("noFunctions")}
              all={offices.map((id) => [
                id,
                functions[id]?.label ?? canvas.functions[id]?.label ?? id,
              ])}
              chosen={rule.functions}
              onChange={(next) => change({ functions: next })}
            />
            <Named
              title={t("groups")}
              none={t("noGroups")}
              all={teams.map((name) => [name, name])}
              chosen={rule.groups}
              onChange={(next) => change({ groups: next })}
            />
            <Field
              label={t("role")}
              value={rule.role ?? ""}
              required
              options={[
                { value: "", name: common("notSet") },
                ...ROLES.map((role) => ({ value: role, name: roleLabel(role) })),
              ]}
              onChange={(role) => change({ role: role === "" ? null : role })}
            />
            <Check
              label={t("starter")}
              checked={rule.starter}
              onChange={(starter) => change({ starter })}
            />
          </>
        )}
        {meanwhile && <Note kind="warn" title={people("changedMeanwhile")} />}
        {locksOut(rule) && <Note kind="warn" title={t("lockedOut")} />}
        <button type="submit" className="button primary" disabled={state === "busy"}>
          {t("save")}
        </button>
      </form>
    </section>
  );
}

function isSame(one: ReaderRule | null, other: ReaderRule | null): boolean {
  const plain = (rule: ReaderRule | null) =>
    rule && [[...rule.functions].sort(), [...rule.groups].sort(), rule.role, rule.starter];
  return equal(plain(one), plain(other));
}

/** Names of which each that is checked suffices. */
function Named({
  title,
  none,
  all,
  chosen,
  onChange,
}: {
  title: string;
  none: string;
  all: [string, string][];
  chosen: string[];
  onChange: (chosen: string[]) => void;
}) {
  return (
    <fieldset className="ways">
      <legend>{title}</legend>
      {all.length === 0 && <p className="muted small">{none}</p>}
      {all.map(([id, label]) => (
        <Check
          key={id}
          label={<Label text={label} />}
          checked={chosen.includes(id)}
          onChange={(on) => onChange(on ? [...chosen, id] : chosen.filter((one) => one !== id))}
        />
      ))}
    </fieldset>
  );
}
