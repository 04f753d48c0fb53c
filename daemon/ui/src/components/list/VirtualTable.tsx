/** A dense table of any length: only the rows in sight are in the page, and keys move through it. */

import { defaultRangeExtractor, type Range, useWindowVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { useShortcuts } from "../../state/shortcuts";
import { NARROW, useMedia } from "../../state/useMedia";

const ROW_PX = 44;
const NARROW_ROW_PX = 84;
const TOP_PX = 110;
const BOTTOM_PX = 90;
const OVERSCAN = 10;
/** So many rows before the end of what is loaded, the next page is asked for. */
const AHEAD = 80;

export interface TableColumn {
  id: string;
  name: ReactNode;
}

interface Props<T> {
  label: string;
  className: string;
  columns: TableColumn[];
  rows: T[];
  keyOf: (row: T) => string;
  rowClass: (row: T) => string;
  cells: (row: T) => ReactNode;
  /** How many rows there are in all, if it is known. */
  total: number | null;
  more: boolean;
  loadMore: () => void;
  isSelected?: (row: T) => boolean;
  onToggle?: (row: T) => void;
}

export function VirtualTable<T>(props: Props<T>) {
  const { rows, more, loadMore, keyOf } = props;
  const body = useRef<HTMLDivElement>(null);
  const narrow = useMedia(NARROW);
  const [margin, setMargin] = useState(0);
  const [active, setActive] = useState(-1);
  useLayoutEffect(() => {
    const look = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      setMargin(Math.round(top + window.scrollY));
    };
    look();
    // What stands above may come, go and grow; nothing of that happens while somebody scrolls.
    const observer = new ResizeObserver(look);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  // Kept from render to render: for new functions the virtualizer measures all rows again.
  const estimateSize = useCallback(() => (narrow ? NARROW_ROW_PX : ROW_PX), [narrow]);
  const getItemKey = useCallback((index: number) => keyOf(rows[index] as T), [keyOf, rows]);
  const rangeExtractor = useCallback(
    (range: Range) => {
      const shown = defaultRangeExtractor(range);
      return active < 0 || active >= rows.length || shown.includes(active)
        ? shown
        : [...shown, active].sort((a, b) => a - b);
    },
    [active, rows.length],
  );
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize,
    overscan: OVERSCAN,
    scrollMargin: margin,
    scrollPaddingStart: TOP_PX,
    scrollPaddingEnd: BOTTOM_PX,
    getItemKey,
    useFlushSync: false,
    rangeExtractor,
  });
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= rows.length - AHEAD) loadMore();
  }, [more, last, rows.length, loadMore]);
  useEffect(() => virtualizer.measure(), [narrow, virtualizer]);
  const focus = useRowFocus(body, active, rows.length, (index) => {
    setActive(index);
    virtualizer.scrollToIndex(index, { align: "auto" });
  });
  const toggle = () => {
    const row = rows[active];
    if (row !== undefined) props.onToggle?.(row);
  };
  useShortcuts({ j: () => focus(1), k: () => focus(-1), x: toggle });
  const arrows = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    focus(step);
    event.preventDefault();
  };
  return (
    <div
      role="table"
      aria-label={props.label}
      aria-rowcount={props.total === null ? -1 : props.total + 1}
      className={`table ${props.className}`}
      onKeyDown={arrows}
    >
      <div role="rowgroup" className="table-head">
        <div role="row" aria-rowindex={1} className="columns">
          {props.columns.map((column) => (
            <div key={column.id} role="columnheader" className={`cell-${column.id}`}>
              {column.name}
            </div>
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        ref={body}
        className="table-body"
        style={{ height: virtualizer.getTotalSize() }}
      >
        {items.map((item) => {
          const row = rows[item.index] as T;
          return (
            <Row
              key={item.key}
              row={row}
              index={item.index}
              offset={item.start - margin}
              className={props.rowClass(row)}
              selected={props.isSelected?.(row) ?? false}
              cells={props.cells}
              measure={narrow ? virtualizer.measureElement : undefined}
              onFocus={setActive}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RowProps<T> {
  row: T;
  index: number;
  offset: number;
  className: string;
  selected: boolean;
  cells: (row: T) => ReactNode;
  measure: ((element: Element | null) => void) | undefined;
  onFocus: (index: number) => void;
}

function PlainRow<T>(props: RowProps<T>) {
  const { index } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      ref={props.measure}
      className={`row columns ${props.className}${props.selected ? " selected" : ""}`}
      style={{ transform: `translateY(${props.offset}px)` }}
      onFocus={() => props.onFocus(index)}
      onClick={followLink}
      onAuxClick={followLink}
    >
      {props.cells(props.row)}
    </div>
  );
}

const Row = memo(PlainRow) as typeof PlainRow;

/**
 * A click beside the link of a row is one on it, unless it selects text. A link that is stretched
 * over the row would hide the titles of its cells, and have each row painted in each frame.
 */
function followLink(event: MouseEvent<HTMLDivElement>) {
  const on = event.target as Element;
  if (on.closest("a, button, input") !== null || getSelection()?.type === "Range") return;
  const link = event.currentTarget.querySelector<HTMLAnchorElement>(".row-main");
  if (link === null || event.button > 1) return;
  if (event.button === 1 || event.ctrlKey || event.metaKey)
    window.open(link.href, "_blank", "noopener");
  else link.click();
}

/** Moves the focus by rows, also to those that are not in the page yet. */
function useRowFocus(
  body: React.RefObject<HTMLDivElement | null>,
  active: number,
  count: number,
  go: (index: number) => void,
): (step: number) => void {
  const wanted = useRef(-1);
  useEffect(() => {
    if (wanted.current < 0) return;
    const link = body.current?.querySelector<HTMLElement>(
      `[data-index="${wanted.current}"] .row-main`,
    );
    if (link === null || link === undefined) return;
    wanted.current = -1;
    link.focus({ preventScroll: true });
  });
  return useCallback(
    (step: number) => {
      const next = Math.max(0, Math.min(count - 1, active < 0 ? 0 : active + step));
      if (count === 0) return;
      wanted.current = next;
      go(next);
    },
    [active, count, go],
  );
}
