/** What did not come along from a BPMN file: the draft is checked without it. */

import { useState } from "react";
import { Label } from "../../../components/Text";
import { editor as t } from "../../../text/en/editor";
import { importedOf, keepImported } from "./draft/imported";

export function FromFile({ vertical }: { vertical: string }) {
  const [lost, setLost] = useState(() => importedOf(vertical));
  if (lost.length === 0) return null;
  const forget = () => {
    keepImported(vertical, []);
    setLost([]);
  };
  return (
    <section className="card findings" aria-label={t("notFromFile")}>
      <h2>{t("notFromFile")}</h2>
      <ul>
        {lost.map((one, place) => (
          <li key={place}>
            <Label text={one.detail} maxLength={400} />
          </li>
        ))}
      </ul>
      <button type="button" className="button" onClick={forget}>
        {t("seenTo")}
      </button>
    </section>
  );
}
