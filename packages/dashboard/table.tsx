/**
 * A table of any length: only visible rows are rendered. It is one stop for the Tab key; arrow keys move inside it. If
 * there is little room, each row becomes a card of two lines.
 * @module
 */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { slugOf, type Sort } from "./route.ts";
import { type Column, type Layout, layoutOf, type Row, type Width } from "./rows.ts";
import { StatusMark } from "./status.tsx";

/** Moves the focus into the table. */
export interface TableControl {
  /** Focuses a row; without a key, or if there is no such row: the row that was focused last, else the first one. */
  focus(key?: string): void;
}

/** Rows that are chosen by their checkboxes, by key. */
export interface Selection {
  keys: ReadonlySet<string>;
  onChange(keys: ReadonlySet<string>): void;
}

interface TableProps {
  /** For screen readers. */
  label: string;
  columns: readonly Column[];
  rows: readonly Row[];
  /** By header. */
  widths: Readonly<Record<string, Width>>;
  sort: Sort | undefined;
  onSort(sort: Sort | undefined): void;
  /** Key of the row that is open. */
  open: string | undefined;
  onOpen(row: Row): void;
  addressOf(row: Row): string;
  /** undefined: rows have no checkboxes. */
  selection: Selection | undefined;
  control: RefObject<TableControl | null>;
  /** Shown if there are no rows. */
  children: ComponentChildren;
}

const ROW = 34;
const CARD = 60;
const HEAD = 34;
/** Width of the column of checkboxes, in pixels. */
const CHECKBOX = 34;
/** Below this width, in pixels, rows are cards. */
const NARROW = 520;
/** Rows rendered above and below the visible ones, for fast scrolling. */
const MARGIN = 12;

/** Shows the table. */
export function Table(props: TableProps) {
  const { label, columns, rows, widths, open, onOpen, selection, control, children } = props;
  const frame = useRef<HTMLDivElement>(null);
  const seen = useSeen(frame);
  const isNarrow = seen.width < NARROW;
  const height = isNarrow ? CARD : ROW;
  const room = seen.width - (selection ? CHECKBOX : 0);
  const layout = useMemo(() => layoutOf(columns, widths, room), [columns, widths, room]);
  const indexes = useMemo(() => new Map(rows.map(({ key }, index) => [key, index])), [rows]);
  const first = Math.max(0, Math.floor(seen.top / height) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((seen.top + seen.height) / height) + MARGIN);
  const { active, focusRow } = useFocus({ frame, rows, indexes, height, fallback: open });
  control.current = { focus: (key) => focusRow(indexes.get(key ?? "") ?? active) };
  const toggle = useToggle(rows, selection);
  const step = (event: KeyboardEvent, index: number) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((seen.height - HEAD) / height) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    const row = rows[index];
    if (event.key in by) {
      if (event.key === "ArrowUp" && index === 0) headerButton(frame.current)?.focus();
      else focusRow(Math.max(0, Math.min(rows.length - 1, index + by[event.key as keyof typeof by])));
    } else if (event.key === "Enter" && row) onOpen(row);
    else if (event.key === " " && selection) toggle(index, event.shiftKey);
    else return;
    event.preventDefault();
  };
  // The active row is rendered even if it is not visible, so that it keeps the focus and the Tab key finds it.
  const indexesShown = [...active < first ? [active] : [], ...range(first, last), ...active >= last ? [active] : []];
  const template = `${selection ? `${CHECKBOX}px ` : ""}${layout.shown.map(({ width }) => `${width}px`).join(" ")}`;
  return (
    <div class={isNarrow ? "table cards" : "table"} ref={frame} style={{ "--columns": template }}>
      <div
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-multiselectable={selection ? true : undefined}
      >
        <Head {...props} layout={layout} isNarrow={isNarrow} onLeave={() => focusRow(active)} />
        <div role="rowgroup" class="rows" style={{ height: `${rows.length * height}px` }}>
          {indexesShown.flatMap((index) => {
            const row = rows[index];
            if (!row) return [];
            return (
              <TableRow
                key={row.key}
                {...props}
                row={row}
                index={index}
                top={index * height}
                layout={isNarrow ? undefined : layout}
                isActive={index === active}
                onStep={(event) => step(event, index)}
                onToggle={(isRange) => toggle(index, isRange)}
              />
            );
          })}
        </div>
      </div>
      {rows.length === 0 && children}
    </div>
  );
}

interface TableRowProps extends TableProps {
  row: Row;
  index: number;
  top: number;
  /** undefined: the row is a card. */
  layout: Layout | undefined;
  isActive: boolean;
  onStep(event: KeyboardEvent): void;
  onToggle(isRange: boolean): void;
}

function TableRow(props: TableRowProps) {
  const { row, index, top, layout, isActive, open, onOpen, onStep, onToggle, selection, columns, addressOf } = props;
  const { key, cells, status, object } = row;
  const isSelected = selection?.keys.has(key);
  const click = (event: MouseEvent) => {
    // Modifiers open the link elsewhere; a click that ends the selection of text is no wish to open the row.
    if (event.ctrlKey || event.metaKey || getSelection()?.toString()) return;
    event.preventDefault();
    onOpen(row);
  };
  const cellOf = ({ header, index: column }: Layout["shown"][0]) => {
    const text = cells[column] ?? "";
    const isStatus = header === "STATUS" && status !== undefined;
    return (
      <div role="gridcell" key={header} class={`cell-${slugOf(header)}`} title={isStatus && status.detail || text}>
        {!layout && !PLAIN.has(header) && <span class="label">{header.toLowerCase()}</span>}
        {isStatus ? <StatusMark status={status} /> : header === "NAME" ? link(text) : text}
      </div>
    );
  };
  const link = (text: string) => <a href={addressOf(row)} tabIndex={-1}>{text}</a>;
  const card = layout ? [] : cardColumns(columns, cells);
  const lead = card.filter(({ header }) => header === "NAME" || header === "STATUS").length;
  return (
    <div
      role="row"
      data-key={key}
      tabIndex={isActive ? 0 : -1}
      aria-rowindex={index + 2}
      aria-label={cells.filter(Boolean).join(" ")}
      aria-selected={isSelected}
      aria-current={key === open ? "true" : undefined}
      class={status?.tone ?? ""}
      style={{ transform: `translateY(${top}px)` }}
      onClick={click}
      onKeyDown={onStep}
    >
      {selection && (
        <div role="gridcell" onClick={(event) => event.stopPropagation()}>
          <label class="check">
            <input
              type="checkbox"
              tabIndex={-1}
              aria-label={`Select ${object.metadata.name}`}
              checked={isSelected}
              onClick={(event) => onToggle(event.shiftKey)}
            />
          </label>
        </div>
      )}
      {layout ? layout.shown.map(cellOf) : (
        <>
          {card.slice(0, lead).map(cellOf)}
          <div role="none" class="second">{card.slice(lead, lead + MOST_VALUES).map(cellOf)}</div>
        </>
      )}
    </div>
  );
}

/** Columns whose values explain themselves on a card. */
const PLAIN = new Set(["NAME", "STATUS", "NAMESPACE", "AGE"]);

/** How many values a card shows in its second line: more would be cut off on a phone. */
const MOST_VALUES = 4;

/** Returns what a card shows, in its order: NAME and STATUS in the first line, the most important values in the second. */
function cardColumns(columns: readonly Column[], cells: readonly string[]) {
  return columns.map(({ header, rank }, index) => ({ header, rank, index, width: 0 }))
    .filter(({ header, index }) => header === "NAME" || cells[index])
    .sort((a, b) => a.rank - b.rank);
}

type HeadProps = TableProps & { layout: Layout; isNarrow: boolean; onLeave(): void };

/** The headers, which sort; on cards, a list to choose the order from. */
function Head({ columns, rows, layout, isNarrow, sort, onSort, selection, onLeave }: HeadProps) {
  if (isNarrow) {
    return (
      <div class="order">
        <label>
          Sort by{" "}
          <select
            value={sort?.column ?? ""}
            onChange={({ currentTarget: { value } }) =>
              onSort(value === "" ? undefined : { column: value, isDescending: sort?.isDescending ?? false })}
          >
            <option value="">name</option>
            {columns.filter(({ header }) => header !== "NAME").map(({ header }) => (
              <option key={header} value={slugOf(header)}>{header.toLowerCase()}</option>
            ))}
          </select>
        </label>
        {sort && (
          <button type="button" onClick={() => onSort({ ...sort, isDescending: !sort.isDescending })}>
            {sort.isDescending ? "Descending" : "Ascending"}
          </button>
        )}
      </div>
    );
  }
  const isAll = rows.length > 0 && rows.every(({ key }) => selection?.keys.has(key));
  const step = (event: KeyboardEvent) => {
    const button = event.target as HTMLElement;
    const cell = button.closest("[role=columnheader]");
    const next = { ArrowLeft: cell?.previousElementSibling, ArrowRight: cell?.nextElementSibling }[event.key];
    if (next) next.querySelector<HTMLElement>("button, input")?.focus();
    else if (event.key === "ArrowDown" || event.key === "Escape") onLeave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div role="row" aria-rowindex={1} class="head" onKeyDown={step}>
      {selection && (
        <div role="columnheader">
          <label class="check">
            <input
              type="checkbox"
              tabIndex={-1}
              aria-label="Select all"
              checked={isAll}
              onChange={() => selection.onChange(new Set(isAll ? [] : rows.map(({ key }) => key)))}
            />
          </label>
        </div>
      )}
      {layout.shown.map(({ header, index: at }, index) => {
        const column = slugOf(header);
        const direction = sort?.column === column ? sort.isDescending ? "descending" : "ascending" : undefined;
        return (
          <div role="columnheader" key={header} aria-sort={direction ?? "none"}>
            <button
              type="button"
              tabIndex={-1}
              title={columns[at]?.title}
              onClick={() => onSort(afterClick(sort, column))}
            >
              {header}
              <span class="arrow" aria-hidden="true">
                {direction === "ascending" ? "▲" : direction === "descending" ? "▼" : ""}
              </span>
            </button>
            {index === layout.shown.length - 1 && layout.hidden.length > 0 && (
              <span class="more" title={`No room for ${layout.hidden.join(", ")}. Open a row to see everything.`}>
                +{layout.hidden.length}
              </span>
            )}
          </div>
        );
      })}
    </div>
  );
}

/** A first click sorts, a second one turns the order round, a third one ends it. */
function afterClick(sort: Sort | undefined, column: string): Sort | undefined {
  if (sort?.column !== column) return { column, isDescending: false };
  return sort.isDescending ? undefined : { column, isDescending: true };
}

/** Returns the visible part of the frame, in pixels; `top` in steps, so that scrolling renders rarely. */
function useSeen(frame: RefObject<HTMLDivElement | null>) {
  const [seen, setSeen] = useState({ top: 0, height: 800, width: 1000 });
  // Before the first paint, so that columns do not change at once.
  useLayoutEffect(() => {
    const element = frame.current!;
    const measure = () => {
      const top = Math.floor(element.scrollTop / (ROW * 4)) * ROW * 4;
      const next = { top, height: element.clientHeight, width: element.clientWidth };
      setSeen((old) => old.top === next.top && old.height === next.height && old.width === next.width ? old : next);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  return seen;
}

interface FocusProps {
  frame: RefObject<HTMLDivElement | null>;
  rows: readonly Row[];
  indexes: ReadonlyMap<string, number>;
  height: number;
  /** Key of the active row before any had the focus. */
  fallback: string | undefined;
}

/** Returns the index of the row that the Tab key finds, and a function that moves the focus to another one. */
function useFocus({ frame, rows, indexes, height, fallback }: FocusProps) {
  const [key, setKey] = useState<string>();
  const wanted = useRef<string | undefined>(undefined);
  const had = useRef<{ key: string; index: number } | undefined>(undefined);
  const active = indexes.get(key ?? fallback ?? "") ?? indexes.get(fallback ?? "") ?? 0;
  const focusRow = (index: number) => {
    const row = rows[index];
    const element = frame.current;
    if (!row || !element) return;
    const head = element.querySelector<HTMLElement>(".head, .order")?.offsetHeight ?? 0;
    const lowest = (index + 1) * height + head - element.clientHeight;
    element.scrollTop = Math.max(Math.min(element.scrollTop, index * height), lowest);
    wanted.current = row.key;
    setKey(row.key);
    takeFocus();
  };
  const takeFocus = () => {
    const row = frame.current?.querySelector<HTMLElement>(`[data-key="${wanted.current}"]`);
    if (wanted.current === undefined || !row) return;
    wanted.current = undefined;
    row.focus({ preventScroll: true });
  };
  // The row may only now have been rendered.
  useLayoutEffect(takeFocus);
  useEffect(() => {
    const follow = ({ target }: FocusEvent) => {
      const of = (target as Element).closest<HTMLElement>("[data-key]")?.dataset["key"];
      if (of === undefined) return;
      had.current = { key: of, index: indexes.get(of) ?? 0 };
      setKey(of);
    };
    frame.current?.addEventListener("focusin", follow);
    return () => frame.current?.removeEventListener("focusin", follow);
  }, [indexes]);
  // If the focused row goes away, its neighbour takes over: otherwise the keyboard would be at the top of the page again.
  useLayoutEffect(() => {
    const lost = had.current;
    if (lost === undefined || indexes.has(lost.key) || rows.length === 0) return;
    had.current = undefined;
    if (document.activeElement === document.body) focusRow(Math.min(lost.index, rows.length - 1));
  }, [indexes]);
  return { active, focusRow };
}

/** Returns a function that selects a row or ends that; with `isRange` all rows from the last one on. */
function useToggle(rows: readonly Row[], selection: Selection | undefined) {
  const last = useRef(0);
  return (index: number, isRange: boolean) => {
    const row = rows[index];
    if (!selection || !row) return;
    const isOn = isRange || !selection.keys.has(row.key);
    const [from, to] = isRange ? [Math.min(last.current, index), Math.max(last.current, index)] : [index, index];
    const keys = new Set(selection.keys);
    for (const { key } of rows.slice(from, to + 1)) isOn ? keys.add(key) : keys.delete(key);
    last.current = index;
    selection.onChange(keys);
  };
}

function headerButton(frame: HTMLElement | null): HTMLElement | undefined {
  return frame?.querySelector<HTMLElement>("[role=columnheader][aria-sort]:not([aria-sort=none]) button") ??
    frame?.querySelector<HTMLElement>("[role=columnheader] button") ?? undefined;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}
