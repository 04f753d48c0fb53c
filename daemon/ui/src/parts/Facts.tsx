/** Values as people read them: names and values, not braces and quotes. */

import { pretty } from "../json";
import { Exact, type Facts as Values, type Json, type Schema } from "../types";
import { named } from "../words";
import { Label, Text } from "./Text";

const DEEP = 4;
const MANY = 60;

export function Value({ value, depth = 0 }: { value: Json; depth?: number }) {
  if (value === null) return <span className="muted">none</span>;
  if (typeof value === "boolean") return <>{value ? "Yes" : "No"}</>;
  if (typeof value === "number") return <>{String(value)}</>;
  if (value instanceof Exact) return <>{value.text}</>;
  if (typeof value === "string") return <Text text={value} />;
  if (depth >= DEEP) return <pre>{pretty(value)}</pre>;
  if (Array.isArray(value)) return <Items items={value} depth={depth} />;
  return <Table values={value} depth={depth} />;
}

function Items({ items, depth }: { items: Json[]; depth: number }) {
  if (items.length === 0) return <span className="muted">none</span>;
  return (
    <ul className="items">
      {items.slice(0, MANY).map((item, index) => (
        <li key={index}>
          <Value value={item} depth={depth + 1} />
        </li>
      ))}
      {items.length > MANY && <li className="muted">and {items.length - MANY} more</li>}
    </ul>
  );
}

export function Table({ values, depth = 0, hints = {} }: { values: Values; depth?: number; hints?: Record<string, Schema> }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return <span className="muted">nothing</span>;
  return (
    <dl className={depth === 0 ? "facts" : "facts nested"}>
      {entries.slice(0, MANY).map(([key, value]) => (
        <div key={key}>
          <dt>
            <Label text={named(key)} />
            {hints[key]?.description !== undefined && <small><Label text={hints[key].description} most={200} /></small>}
          </dt>
          <dd>
            <Value value={value} depth={depth + 1} />
          </dd>
        </div>
      ))}
      {entries.length > MANY && (
        <div>
          <dt>…</dt>
          <dd className="muted">and {entries.length - MANY} more</dd>
        </div>
      )}
    </dl>
  );
}
