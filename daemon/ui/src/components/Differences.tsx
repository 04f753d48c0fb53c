/** What differs between two documents: members before and after, and the steps of a process. */

import { Label } from "./Text";
import { common } from "../text/en/common";

export interface Difference {
  name: string;
  before: string;
  after: string;
}

export interface StepDifference {
  id: string;
  label: string;
  mark: "added" | "removed" | "changed";
  fields: Difference[];
}

export function Differences({ fields }: { fields: Difference[] }) {
  return (
    <dl className="differences">
      {fields.map((field) => (
        <div key={field.name}>
          <dt>{field.name}</dt>
          <dd>
            {field.before !== "" && (
              <del>
                <Label text={field.before} maxLength={300} />
              </del>
            )}{" "}
            {field.after !== "" && (
              <ins>
                <Label text={field.after} maxLength={300} />
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function StepDifferences({ steps }: { steps: StepDifference[] }) {
  return (
    <ul className="steps-list">
      {steps.map((change) => (
        <li key={change.id}>
          <strong>
            <Label text={change.label} />
          </strong>{" "}
          <small className="muted">
            <Label text={change.id} />, {common(`mark.${change.mark}`)}
          </small>
          {change.fields.length > 0 && <Differences fields={change.fields} />}
        </li>
      ))}
    </ul>
  );
}
