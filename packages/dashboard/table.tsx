/** A table of any length: rows that are not seen are not drawn. @module */
import { useEffect, useRef, useState } from "preact/hooks";

/** A table to be shown. */
export interface TableProps<Row> {
  headers: readonly { title: string; isWide: boolean }[];
  rows: readonly Row[];
  keyOf(row: Row): string;
  /** As many as there are headers. */
  cellsOf(row: Row): readonly string[];
  /** How a row is to look: `ok`, `trouble` or nothing in particular. */
  toneOf(row: Row): string;
  /** Key of the row that is open. */
  open: string | undefined;
  onOpen(row: Row): void;
}

const ROW = 34;
/** Drawn above and below what is seen, for whoever scrolls fast. */
const MARGIN = 10;

/** Draws it. Arrow keys go from row to row, Enter opens one. */
export function Table<Row>({ headers, rows, keyOf, cellsOf, toneOf, open, onOpen }: TableProps<Row>) {
  const frame = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = frame.current!;
    const look = () => setSeen({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
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
    // It is drawn when what was scrolled has been seen.
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
