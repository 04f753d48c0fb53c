/** What two authors have changed alike, with both values, and whose is kept. */

import { Note } from "../../../components/Feedback";
import { Label } from "../../../components/Text";
import { shortText } from "./draft/comparison";
import { type Draft, stepOf } from "./draft/document";
import type { Clash, Side } from "./draft/merge";
import type { Conflict } from "./draft/useSaving";
import { useNames } from "../../../state/members";
import { editor as t } from "../../../text/en/editor";

interface Props {
  conflict: Conflict;
  draft: Draft;
  onResolve: (side: Side) => void;
}

export function ConflictNote({ conflict, draft, onResolve }: Props) {
  const nameOf = useNames();
  return (
    <Note kind="bad" title={t("sameFields", { by: nameOf(conflict.by) })}>
      <table className="clashes">
        <thead>
          <tr>
            <th scope="col">{t("field")}</th>
            <th scope="col">{t("yours")}</th>
            <th scope="col">{t("theirs")}</th>
          </tr>
        </thead>
        <tbody>
          {conflict.clashes.map((clash) => (
            <tr key={`${clash.step} ${clash.field}`}>
              <th scope="row">
                <Label text={placeOf(draft, clash)} />
              </th>
              <td>{valueOf(clash, clash.mine)}</td>
              <td>{valueOf(clash, clash.theirs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>{t("othersKept")}</p>
      <div className="actions">
        <button type="button" className="button" onClick={() => onResolve("theirs")}>
          {t("keepTheirs")}
        </button>
        <button type="button" className="button" onClick={() => onResolve("mine")}>
          {t("keepMine")}
        </button>
      </div>
    </Note>
  );
}

function placeOf(draft: Draft, clash: Clash): string {
  if (clash.step === null) return clash.field;
  const step = stepOf(draft, clash.step)?.label ?? clash.step;
  return clash.field === "" ? step : `${step}: ${clash.field}`;
}

function valueOf(clash: Clash, value: unknown) {
  if (value === undefined) return clash.field === "" ? t("deleted") : t("empty");
  if (clash.field === "") return t("changed");
  return <Label text={shortText(value)} maxLength={200} />;
}
