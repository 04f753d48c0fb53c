/** The search of a list and its filters, which fold up where there is little room. */

import { type ReactNode, useState } from "react";
import { NARROW, useMedia } from "../../state/useMedia";
import type { Query } from "../../state/query";
import { common as t } from "../../text/en/common";
import { ListSearch } from "./ListSearch";

interface Props {
  query: Query;
  search: string;
  /** The names of the filters in the address, to say how many are set. */
  names: string[];
  children: ReactNode;
}

export function FilterBar({ query, search, names, children }: Props) {
  const narrow = useMedia(NARROW);
  const [open, setOpen] = useState(false);
  const set = names.filter((name) => name !== "q" && query.get(name) !== "").length;
  return (
    <div className="filters dense" role="group" aria-label={t("filters")}>
      <ListSearch query={query} label={search} />
      {narrow && (
        <button
          type="button"
          className="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {set > 0 ? t("filtersSet", { set }) : t("filters")}
        </button>
      )}
      {(!narrow || open) && children}
    </div>
  );
}
