/** JSON values as lists and tables. */

import { ExactNumber, isObject, prettyPrint } from "../api/json";
import type { JsonSchema } from "../api/jsonSchema";
import type { Values } from "../api/types";
import { common as t } from "../text/en/common";
import { formatDay, formatMoney, formatTime, numberText } from "../text/formats";
import { isMoney } from "../text/identity";
import { humanize } from "../text/labels";
import { Label, Text } from "./Text";

const DEPTH_MAX = 4;
const ITEMS_MAX = 60;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** Of whole seconds: what has more digits is shown as it is. */
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})$/;

/** A text; a date as the reader writes dates, with what it is in the data as a tooltip. */
function TextValue({ text }: { text: string }) {
  const format = DAY.test(text) ? formatDay : MOMENT.test(text) ? formatTime : null;
  if (format === null || Number.isNaN(Date.parse(text))) return <Text text={text} />;
  return (
    <time dateTime={text} title={text}>
      {format(text)}
    </time>
  );
}

export function Value({
  value,
  depth = 0,
  name = "",
}: {
  value: unknown;
  depth?: number;
  name?: string;
}) {
  if (value === null || value === undefined) return <span className="muted">{t("none")}</span>;
  if (typeof value === "boolean") return <>{value ? t("yes") : t("no")}</>;
  if (typeof value === "number" || value instanceof ExactNumber) {
    const text = value instanceof ExactNumber ? value.text : String(value);
    return <>{isMoney(name) ? formatMoney(text) : numberText(text)}</>;
  }
  if (typeof value === "string") return <TextValue text={value} />;
  if (depth >= DEPTH_MAX) return <pre>{prettyPrint(value)}</pre>;
  if (Array.isArray(value)) return <ValueList items={value} depth={depth} />;
  return isObject(value) ? <ValueTable values={value} depth={depth} /> : <>{String(value)}</>;
}

function ValueList({ items, depth }: { items: unknown[]; depth: number }) {
  if (items.length === 0) return <span className="muted">{t("none")}</span>;
  return (
    <ul className="items">
      {items.slice(0, ITEMS_MAX).map((item, index) => (
        <li key={index}>
          <Value value={item} depth={depth + 1} />
        </li>
      ))}
      {items.length > ITEMS_MAX && (
        <li className="muted">{t("more", { count: items.length - ITEMS_MAX })}</li>
      )}
    </ul>
  );
}

export function ValueTable({
  values,
  depth = 0,
  hints = {},
}: {
  values: Values;
  depth?: number;
  hints?: Record<string, JsonSchema>;
}) {
  const entries = Object.entries(values);
  if (entries.length === 0) return <span className="muted">{t("nothing")}</span>;
  return (
    <dl className={depth === 0 ? "facts" : "facts nested"}>
      {entries.slice(0, ITEMS_MAX).map(([key, value]) => (
        <div key={key}>
          <dt>
            <Label text={hints[key]?.title ?? humanize(key)} />
            {hints[key]?.description !== undefined && (
              <small>
                <Label text={hints[key].description} maxLength={200} />
              </small>
            )}
          </dt>
          <dd>
            <Value value={value} depth={depth + 1} name={key} />
          </dd>
        </div>
      ))}
      {entries.length > ITEMS_MAX && (
        <div>
          <dt>…</dt>
          <dd className="muted">{t("more", { count: entries.length - ITEMS_MAX })}</dd>
        </div>
      )}
    </dl>
  );
}
