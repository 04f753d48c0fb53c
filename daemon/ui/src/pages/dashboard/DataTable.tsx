/** A table of a few columns; on a narrow screen it scrolls by itself. */

import type { ReactNode } from "react";
import { formatNumber } from "./format";

export function DataTable({
  caption,
  head,
  rows,
}: {
  caption: string;
  head: string[];
  rows: ReactNode[][];
}) {
  return (
    <div className="table-box" role="region" aria-label={caption} tabIndex={0}>
      <table className="data">
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) =>
                column === 0 ? (
                  <th key={column} scope="row">
                    {cell}
                  </th>
                ) : (
                  <td key={column}>{cell}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A number that leads to what it counts; nothing leads nowhere. */
export function NumberLink({ value, to }: { value: number; to: string }) {
  return value === 0 ? <span className="muted">0</span> : <a href={to}>{formatNumber(value)}</a>;
}
