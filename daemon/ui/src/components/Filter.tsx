/** Filters of a list: a select, and a search field. */

import { useId } from "react";
import { plainText } from "./Text";
import { common as t } from "../text/en/common";

interface FilterProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: [string, string][];
  /** The reader is about to open it. */
  onNear?: () => void;
}

export function Filter({ label, value, onChange, options, onNear }: FilterProps) {
  const id = useId();
  return (
    <div className="filter" onPointerEnter={onNear} onFocus={onNear}>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([id, name]) => (
          <option key={id} value={id}>
            {plainText(name, 80)}
          </option>
        ))}
      </select>
    </div>
  );
}

export function SearchField({
  label = t("search"),
  value,
  onChange,
}: {
  label?: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <div className="filter search">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

/** How many entries are shown, unless all are. */
export function ShownCount({ shown, all }: { shown: number; all: number }) {
  return (
    <p className="muted" role="status">
      {shown === all ? "" : t("shownOf", { shown, all })}
    </p>
  );
}
