/** The functions that decide at steps of a process, and who may read its runs. */

import { Check, Field } from "../../../../components/Field";
import { Icon } from "../../../../components/Icon";
import { roleLabel, ROLES } from "../../../../text/labels";
import type { Draft } from "../draft/document";
import {
  functionAdded,
  functionChanged,
  functionRemoved,
  functionRenamed,
  functionsIn,
  type Readers,
  readersOf,
  withReaders,
} from "../draft/offices";
import { NameField } from "./NameField";
import { ListField, listOf, RequiredText } from "./StepFields";
import { common } from "../../../../text/en/common";
import { editor as t } from "../../../../text/en/editor";

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
}

export function FunctionFields({ draft, onChange }: Props) {
  const functions = functionsIn(draft);
  return (
    <fieldset className="ways" aria-label={t("functions")}>
      <legend>{t("functions")}</legend>
      <p className="hint">{t("functionsHint")}</p>
      {Object.entries(functions).map(([id, office], place) => (
        <div
          key={place}
          className="way"
          role="group"
          aria-label={t("functionIs", { label: office.label })}
        >
          <RequiredText
            label={t("label")}
            value={office.label}
            owner={id}
            onChange={(label) => onChange(functionChanged(draft, id, { ...office, label }))}
          />
          <NameField
            label={t("functionId")}
            value={id}
            isTaken={(name) => Object.hasOwn(functions, name)}
            takenText={t("functionIdTaken")}
            onChange={(name) => onChange(functionRenamed(draft, id, name))}
          />
          <Field
            label={t("functionRole")}
            hint={t("functionRoleHint")}
            value={office.role ?? "manager"}
            options={["manager", "admin", "owner"].map((role) => ({
              value: role,
              name: roleLabel(role),
            }))}
            onChange={(role) => onChange(functionChanged(draft, id, { ...office, role }))}
            required
          />
          <button
            type="button"
            className="button"
            aria-label={t("removeFunction", { label: office.label })}
            onClick={() => onChange(functionRemoved(draft, id))}
          >
            <Icon name="close" size={16} /> {t("remove")}
          </button>
        </div>
      ))}
      <button
        type="button"
        className="button"
        onClick={() => onChange(functionAdded(draft, t("newFunction")))}
      >
        <Icon name="plus" size={16} /> {t("addFunction")}
      </button>
    </fieldset>
  );
}

export function ReaderFields({ draft, onChange }: Props) {
  const readers = readersOf(draft);
  const lists = (now: Readers) => ({
    step: { id: "readers", ...now },
    set: (members: Record<string, unknown>) => onChange(withReaders(draft, { ...now, ...members })),
  });
  return (
    <fieldset className="ways" aria-label={t("readers")}>
      <legend>{t("readers")}</legend>
      <Check
        label={t("readersNamed")}
        hint={t("readersHint")}
        checked={readers !== null}
        onChange={(on) => onChange(withReaders(draft, on ? { role: "admin" } : null))}
      />
      {readers !== null && (
        <>
          <ListField {...lists(readers)} name="functions" label={t("readerFunctions")} />
          <ListField {...lists(readers)} name="groups" label={t("readerGroups")} />
          <Field
            label={t("readerRole")}
            value={readers.role ?? ""}
            options={[
              { value: "", name: common("notSet") },
              ...ROLES.map((role) => ({ value: role, name: roleLabel(role) })),
            ]}
            onChange={(role) => onChange(withReaders(draft, { ...readers, role }))}
            required
          />
          <Check
            label={t("readerStarter")}
            checked={readers.starter === true}
            onChange={(starter) => onChange(withReaders(draft, { ...readers, starter }))}
          />
        </>
      )}
      <ListField
        step={{ id: "subjects", subjects: listOf(draft["subjects"]) }}
        set={({ subjects }) => {
          const { subjects: _before, ...rest } = draft;
          onChange((subjects === undefined ? rest : { ...rest, subjects }) as Draft);
        }}
        name="subjects"
        label={t("subjects")}
        hint={t("subjectsHint")}
      />
    </fieldset>
  );
}
