/** A table of any length: only visible rows are rendered. @module */
import { useEffect, useRef, useState } from "preact/hooks";

/** Contents of a table, and what happens when a row is opened. */
interface TableProps<Row> {
  headers: readonly { title: string; isWide: boolean }[];
  rows: readonly Row[];
  keyOf(row: Row): string;
  /** One cell for each header. */
  cellsOf(row: Row): readonly string[];
  /** How a row looks: `ok`, `trouble` or "" for normal. */
  toneOf(row: Row): string;
  /** Key of the row that is open. */
  open: string | undefined;
  onOpen(row: Row): void;
}

const ROW = 34;
/** Rows rendered above and below the visible ones, for fast scrolling. */
const MARGIN = 10;

/** Shows the table. Arrow keys move between rows, Enter opens a row. */
export function Table<Row>({ headers, rows, keyOf, cellsOf, toneOf, open, onOpen }: TableProps<Row>) {
  const frame = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = frame.current!;
    const measure = () => setSeen({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const first = Math.max(0, Math.floor(seen.top / ROW) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((seen.top + seen.height) / ROW) + MARGIN);
  const step = (event: KeyboardEvent, index: number) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    if (event.key === "Enter" && rows[index]) onOpen(rows[index]);
    if (by === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, index + by));
    const element = frame.current!;
    element.scrollTop = Math.max(Math.min(element.scrollTop, next * ROW), (next + 2) * ROW - element.clientHeight);
    const row = () => element.querySelector<HTMLElement>(`[aria-rowindex="${next + 2}"]`);
    if (row()) row()?.focus();
    // The row is rendered only after the scroll event has been handled.
    else requestAnimationFrame(() => requestAnimationFrame(() => row()?.focus()));
  };
  return (
    <div class="table" ref={frame}>
      <table role="grid" aria-rowcount={rows.length + 1}>
        <thead>
          <tr>{headers.map(({ title, isWide }) => <th key={title} class={isWide ? "wide" : ""}>{title}</th>)}</tr>
        </thead>
        <tbody>
          {first > 0 && <tr style={{ height: `${first * ROW}px` }} />}
          {rows.slice(first, last).map((row, offset) => (
            <tr
              key={keyOf(row)}
              tabIndex={0}
              aria-rowindex={first + offset + 2}
              aria-selected={keyOf(row) === open}
              class={toneOf(row)}
              onClick={() => onOpen(row)}
              onKeyDown={(event) => step(event, first + offset)}
            >
              {headers.map(({ title, isWide }, column) => (
                <td key={title} class={isWide ? "wide" : ""}>{cellsOf(row)[column]}</td>
              ))}
            </tr>
          ))}
          {last < rows.length && <tr style={{ height: `${(rows.length - last) * ROW}px` }} />}
        </tbody>
      </table>
    </div>
  );
}
