/** Where the call of a promoted run is not the one that shadow recorded. */

import type { Gate } from "../../api/types";
import { Label } from "../../components/Text";
import { gate as t } from "../../text/en/gate";
import { DataTable } from "../dashboard/DataTable";

const VALUE_MAX = 200;

export function CallDifferences({ gate }: { gate: Gate }) {
  if (gate.differences.length === 0) return null;
  return (
    <section className="card" aria-label={t("differences")}>
      <h2>{t("differences")}</h2>
      <p className="gap">{t("differencesHint")}</p>
      <DataTable
        caption={t("differences")}
        head={[t("differsAt"), t("recordedValue"), t("valueNow")]}
        rows={gate.differences.map((one) => [
          one.pointer === "" ? t("wholeCall") : <Label text={one.pointer} />,
          <Value key="recorded" json={one.recorded} />,
          <Value key="now" json={one.now} />,
        ])}
      />
    </section>
  );
}

function Value({ json }: { json: string | null }) {
  if (json === null) return <span className="muted">{t("noValue")}</span>;
  return (
    <code>
      <Label text={json} maxLength={VALUE_MAX} />
    </code>
  );
}
