/** What is wrong with the draft, and the fields of the process as a whole. */

import type { Violation } from "../../../api/types";
import { Loading, Note } from "../../../components/Feedback";
import { Field } from "../../../components/Field";
import { Label } from "../../../components/Text";
import { countOf } from "../../../text/sentences";
import { type Draft, KIND_NAMES, stepOf } from "./document";
import { type Schema, SchemaBuilder } from "./SchemaBuilder";
import type { Editing } from "./useDraft";

function inputsOf(draft: Draft): Schema | null {
  const schema = draft["inputs_schema"] as Schema | undefined;
  return schema === undefined || Object.keys(schema).length <= 1 ? null : schema;
}

/** Everything that is wrong, each finding with its step. */
export function Findings({
  editing,
  onChoose,
}: {
  editing: Editing;
  onChoose: (id: string) => void;
}) {
  const { check, malformed, draft } = editing;
  if (malformed !== null)
    return (
      <Note kind="bad" title="The document has another form than a template's.">
        <ul>
          {[...malformed.fields].map(([pointer, detail]) => (
            <li key={pointer}>
              <code>{pointer}</code> <Label text={detail} maxLength={300} />
            </li>
          ))}
        </ul>
      </Note>
    );
  if (check === null) return <Loading rows={1} what="Checking" />;
  if (check.valid)
    return <Note kind="good" title="All rules are kept. The draft can be published." />;
  const link = (one: Violation) => one.node ?? one.edge?.source ?? null;
  return (
    <section className="card findings" aria-label="Findings">
      <h2>{countOf(check.violations.length, "finding")}</h2>
      <ul>
        {check.violations.map((one, place) => {
          const at = link(one);
          const known = draft !== null && stepOf(draft, at) !== undefined;
          return (
            <li key={place}>
              {at !== null && known && (
                <button type="button" className="link" onClick={() => onChoose(at)}>
                  <Label text={at} />
                </button>
              )}{" "}
              <Label text={one.detail} maxLength={400} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

export function ProcessPanel({
  editing,
  onChoose,
}: {
  editing: Editing;
  onChoose: (id: string) => void;
}) {
  const { draft, check } = editing;
  if (draft === null) return null;
  const description = typeof draft["description"] === "string" ? draft["description"] : "";
  return (
    <section className="card" aria-label="The process">
      <h2>The process</h2>
      <Field
        label="Title"
        value={draft.title}
        onChange={(title) => editing.change({ ...draft, title: title || " " })}
        required
      />
      <Field
        label="Description"
        rows={3}
        value={description}
        onChange={(text) => editing.change({ ...draft, description: text || " " })}
      />
      <SchemaBuilder
        legend="Inputs"
        schema={inputsOf(draft)}
        onChange={(schema) =>
          editing.change({ ...draft, inputs_schema: schema ?? { type: "object" } })
        }
      />
      <h3>Steps</h3>
      <ul className="steps-list">
        {draft.steps.map((step) => (
          <li key={step.id}>
            <button type="button" className="link" onClick={() => onChoose(step.id)}>
              <Label text={step.label} />
            </button>{" "}
            <small className="muted">
              {KIND_NAMES[step.kind]}
              {check?.gates.includes(step.id) === true &&
                step.kind !== "gate" &&
                ", a person decides"}
            </small>
          </li>
        ))}
      </ul>
    </section>
  );
}
