/** Functions of a template, and who may read its runs. */

import type { Canvas, ReaderRule } from "../../api/types";
import { Label } from "../../components/Text";
import { templates as t } from "../../text/en/templates";
import { formatList } from "../../text/formats";
import { aRole, quoted } from "../../text/labels";

export function hasOffices({ functions, readers, subjects }: Canvas): boolean {
  return Object.keys(functions).length > 0 || readers !== null || subjects.length > 0;
}

export function Offices({ canvas }: { canvas: Canvas }) {
  const functions = Object.entries(canvas.functions);
  const readers = readerTexts(canvas);
  const { subjects } = canvas;
  return (
    <>
      {functions.length > 0 && (
        <>
          <h3>{t("functions")}</h3>
          <ul className="sources" aria-label={t("functions")}>
            {functions.map(([id, { label, role }]) => (
              <li key={id}>
                <strong>
                  <Label text={label} />
                </strong>{" "}
                <small className="muted">
                  {t("functionUnbound", { role: aRole(role) })}
                  <br />
                  <Label text={decidesAt(canvas, id)} maxLength={400} />
                </small>
              </li>
            ))}
          </ul>
        </>
      )}
      {(readers !== null || subjects.length > 0) && (
        <>
          <h3>{t("readers")}</h3>
          <ul className="sources" aria-label={t("readers")}>
            {(readers ?? [t("everybodyReads")]).map((text) => (
              <li key={text}>
                <Label text={text} maxLength={400} />
              </li>
            ))}
            {subjects.length > 0 && (
              <li>
                <Label text={t("subjects", { inputs: formatList(subjects) })} maxLength={400} />
              </li>
            )}
          </ul>
        </>
      )}
    </>
  );
}

function decidesAt({ nodes }: Canvas, id: string): string {
  const steps = nodes.filter((node) => node.policy?.function === id);
  return steps.length === 0
    ? t("functionUnused")
    : t("functionDecides", { steps: formatList(steps.map((node) => quoted(node.label))) });
}

/** Who may read a run of this; null for everybody of the company. */
function readerTexts({ readers, functions }: Canvas): string[] | null {
  return readers === null ? null : [t("decidersRead"), ...namedTexts(readers, functions)];
}

/** Those whom a rule names, beside who decides. */
export function namedTexts(readers: ReaderRule, functions: Canvas["functions"]): string[] {
  const names = readers.functions.map((id) => quoted(functions[id]?.label ?? id));
  return [
    ...(names.length === 0 ? [] : [t("functionsRead", { functions: formatList(names) })]),
    ...(readers.groups.length === 0
      ? []
      : [t("groupsRead", { groups: formatList(readers.groups) })]),
    ...(readers.role === null ? [] : [t("roleReads", { role: aRole(readers.role) })]),
    ...(readers.starter ? [t("starterReads")] : []),
  ];
}
