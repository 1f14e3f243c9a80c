/** Turns the objects of a list into rows: columns, filter, order, counts per status, and the widths that fit. Pure. @module */
import { lifetimeOf } from "../api/expiry.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { columnsOf } from "../summary/columns.ts";
import type { ServedCounts } from "../summary/pools.ts";
import { type Status, statusText, type Tone } from "../summary/status.ts";
import { type ListedKind, slugOf, type Sort } from "./route.ts";

/** A column of a list. */
export interface Column {
  header: string;
  /** Empty: nothing to show. */
  cell(object: KubeObject, now: Date): string;
  /** What the column means, if its header does not say it. */
  title?: string | undefined;
  /** If there is no room for all columns, those with the highest number go first. */
  rank: number;
}

/** An object of a list. */
export interface Row {
  /** Namespace and name. */
  key: string;
  object: KubeObject;
  /** One for each column. */
  cells: readonly string[];
  /** undefined: the kind has none. */
  status: Status | undefined;
}

/** Columns that STATUS replaces. */
const REPLACED: Partial<Record<ListedKind["kind"], readonly string[]>> = {
  Sandbox: ["READY", "REASON", "MODE"],
  SandboxClaim: ["READY", "REASON"],
  SandboxWarmPool: ["REASON"],
};
/** The most important columns, which stay when there is little room. All others go from the right. */
const RANKS = ["NAME", "STATUS", "NAMESPACE", "READY", "DESIRED", "HIT RATE", "AGE", "IMAGES", "CLAIM", "SANDBOX"];

/** Returns the columns of a list, without what a list computes from several objects. */
export function listColumns(list: ListedKind, { allNamespaces }: { allNamespaces: boolean }): Column[] {
  const columns = columnsOf(list, { isWide: true, allNamespaces })
    .filter(({ header }) => header !== "STATUS" && !REPLACED[list.kind]?.includes(header))
    .map(({ header, cell }) => makeColumn(header, cell));
  if (list.kind === "SandboxTemplate") return columns;
  const at = columns.findIndex(({ header }) => header === "NAME") + 1;
  return columns.toSpliced(at, 0, makeColumn(STATUS, () => ""));
}

/** Makes a column, with a rank that depends on its header. */
export function makeColumn(header: string, cell: Column["cell"], title?: string): Column {
  const rank = RANKS.indexOf(header);
  return { header, cell, title, rank: rank < 0 ? RANKS.length : rank };
}

/** A pool with a lower share of claims that got a member is too small for its claims, although it is full again now. */
const LOW_RATE = 0.5;

/**
 * Returns the status of a pool that may be full, but was empty for most of the claims of the last hour: it is not good.
 * Any other status is returned as it is.
 */
export function poolStatusWith(status: Status, { warm, cold }: Pick<ServedCounts, "warm" | "cold">): Status {
  const all = warm + cold;
  if (status.tone !== "good" || all === 0 || warm / all >= LOW_RATE) return status;
  const detail =
    `Only ${warm} of the ${all} claims of the last hour got a member. For the others, the pool was empty, ` +
    "and a sandbox was made. A larger pool serves more of them.";
  return { ...status, tone: "progress", note: "was empty", detail };
}

const STATUS = "STATUS";

/** Rows that were made before with the same columns, by object. */
export type KnownRows = WeakMap<KubeObject, { row: Row; at: number }>;

/**
 * Makes the rows.
 *
 * @param now an object created after it counts as created now: the clock of the browser may be slow
 * @param known gets all rows; a row whose object, status and time are the same is not made again
 */
export function rowsOf(
  objects: readonly KubeObject[],
  columns: readonly Column[],
  statusOf: (object: KubeObject) => Status | undefined,
  now: Date,
  known: KnownRows = new WeakMap(),
): Row[] {
  return objects.map((object) => {
    const status = statusOf(object);
    const before = known.get(object);
    if (before?.at === now.getTime() && before.row.status === status) return before.row;
    const { namespace, name, creationTimestamp = "" } = object.metadata;
    const created = Date.parse(creationTimestamp);
    const then = created > now.getTime() ? new Date(created) : now;
    const cells = columns.map(({ header, cell }) => {
      const text = header === STATUS ? status && statusText(status) || "" : cell(object, then);
      return text === "<none>" ? "" : text;
    });
    const row = { key: `${namespace}/${name}`, object, cells, status };
    known.set(object, { row, at: now.getTime() });
    return row;
  });
}

const AGE_WORD = /^age([<>])=?(\d+(?:\.\d+)?)([smhdw])$/;
/** An age that is compared, up to its unit, with spaces between its parts. */
const SPACED_AGE = /(?<=^|\s)age\s*([<>]=?)\s*(?:(\d+(?:\.\d+)?)\s+(?=[smhdw](?:\s|$)))?/g;
const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Returns the rows that match every word of a filter. A word matches if a column or a label (`team=a`) contains it, in
 * upper or lower case. `age>1d` and `age<10m` compare the age. A filter with a {@link filterFault} matches no row:
 * what is selected next might be deleted.
 */
export function filtered(rows: readonly Row[], filter: string, now: Date): readonly Row[] {
  if (filterFault(filter) !== undefined) return [];
  const words = wordsOf(filter);
  if (words.length === 0) return rows;
  const isMatch = words.map((word): (row: Row) => boolean => {
    const [isAge, sign, count, unit = ""] = AGE_WORD.exec(word) ?? [];
    if (isAge === undefined) return (row) => textOf(row).includes(word);
    const limit = now.getTime() - Number(count) * (UNIT_MS[unit] ?? NaN);
    return (row) => (createdAt(row) < limit) === (sign === ">");
  });
  return rows.filter((row) => isMatch.every((matches) => matches(row)));
}

/** Returns what is wrong with a filter, as a sentence; undefined: nothing. */
export function filterFault(filter: string): string | undefined {
  const wrong = wordsOf(filter).find((word) => /^age[<>]/.test(word) && !AGE_WORD.test(word));
  return wrong &&
    `Cannot read "${wrong}" in the filter: write an age as in age>1d, with one of the units s, m, h, d and w.`;
}

/** Returns the words, in lower case. Spaces within the comparison of an age do not count. */
function wordsOf(filter: string): string[] {
  return filter.toLowerCase().replace(SPACED_AGE, "age$1$2").split(/\s+/).filter(Boolean);
}

const texts = new WeakMap<Row, string>();

/** Returns the text that a filter searches, in lower case. No word contains a line break, so none matches two columns. */
function textOf(row: Row): string {
  const before = texts.get(row);
  if (before !== undefined) return before;
  const labels = Object.entries(row.object.metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const text = [...row.cells, ...labels].join("\n").toLowerCase();
  texts.set(row, text);
  return text;
}

/** How many rows have a status. */
export interface StatusCount {
  name: string;
  tone: Tone;
  count: number;
}

const TONES: readonly Tone[] = ["bad", "progress", "good", "off"];

/**
 * Counts the rows of each status, problems first. A status has the worst tone of its rows.
 *
 * @param selected statuses that are counted even if no row has them
 */
export function countsOf(rows: readonly Row[], selected: readonly string[] = []): StatusCount[] {
  const counts = new Map(selected.map((name): [string, StatusCount] => [name, { name, tone: "off", count: 0 }]));
  for (const { status } of rows) {
    if (!status) continue;
    const { name, tone } = status;
    const { count, tone: before } = counts.get(name) ?? { count: 0, tone };
    const isWorse = count === 0 || TONES.indexOf(tone) < TONES.indexOf(before);
    counts.set(name, { name, tone: isWorse ? tone : before, count: count + 1 });
  }
  const rank = ({ tone }: StatusCount) => TONES.indexOf(tone);
  return [...counts.values()].sort((a, b) => rank(a) - rank(b) || b.count - a.count || (a.name < b.name ? -1 : 1));
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/**
 * Returns the rows in an order; rows that are alike keep theirs, and rows without a value come last. AGE and EXPIRES are
 * in the order of time, STATUS begins with problems, and numbers in a text count as numbers.
 */
export function inOrder(rows: readonly Row[], columns: readonly Column[], sort: Sort | undefined): readonly Row[] {
  const index = columns.findIndex(({ header }) => slugOf(header) === sort?.column);
  const header = columns[index]?.header;
  if (header === undefined) return rows;
  const valued = rows.map((row) => ({ row, value: valueOf(row, header, row.cells[index] ?? "") }));
  const sign = sort?.isDescending ? -1 : 1;
  return valued.sort(({ value: a }, { value: b }) => {
    if (a === b) return 0;
    if (a === "" || b === "") return Number(a === "") - Number(b === "");
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : COLLATOR.compare(String(a), String(b)));
  }).map(({ row }) => row);
}

function valueOf(row: Row, header: string, cell: string): number | string {
  if (cell === "") return "";
  if (header === "AGE") return -createdAt(row);
  if (header === "EXPIRES") return Date.parse(expiryOf(row.object) ?? "") || "";
  if (header === STATUS && row.status) return `${TONES.indexOf(row.status.tone)} ${cell}`;
  return cell;
}

/** In milliseconds since the epoch; 0: not known. */
function createdAt({ object: { metadata } }: Row): number {
  return Date.parse(metadata.creationTimestamp ?? "") || 0;
}

function expiryOf(object: KubeObject): string | undefined {
  // These casts are safe: the API server has validated what it stores.
  if (object.kind === "SandboxClaim") return (object as SandboxClaim).spec.lifecycle?.shutdownTime;
  return lifetimeOf(object as Sandbox).shutdownTime;
}

/** Widths of letters and of the space around a cell, in pixels: the font is the browser's own, so they are estimates. */
const LETTER = 8.5;
const HEADER_LETTER = 8.6;
const PADDING = 22;
const ICON = 32;
/** An age such as `13h42m`. */
const LEAST_LETTERS = 6;
const MOST_LETTERS = 48;
/** A longer name may be cut off before another column goes, in pixels. */
const MOST_LEAST_NAME = 240;

/** How wide a column wants to be and may become, in pixels. */
export interface Width {
  natural: number;
  least: number;
  /** No row has a value. */
  isEmpty: boolean;
}

/**
 * Returns the widths of columns by header. A column wants to be as wide as its longest cell, up to a limit. STATUS can do
 * without its note.
 *
 * @param before earlier widths: a column never becomes narrower, so that columns stay where they are. `rows` may leave
 *   out those that `before` was computed from
 */
export function widthsOf(
  columns: readonly Column[],
  rows: readonly Row[],
  before: Readonly<Record<string, Width>> = {},
): Record<string, Width> {
  return Object.fromEntries(columns.map(({ header }, index) => {
    const longest = (text: (row: Row) => string) => rows.reduce((most, row) => Math.max(most, text(row).length), 0);
    // The header has a sort mark after it.
    const pixels = (letters: number) => {
      const text = Math.min(Math.max(letters, LEAST_LETTERS), MOST_LETTERS) * LETTER + (header === STATUS ? ICON : 0);
      return Math.ceil(PADDING + Math.max(text, header.length * HEADER_LETTER + 12));
    };
    const letters = longest(({ cells }) => cells[index] ?? "");
    const old = before[header];
    const natural = Math.max(pixels(letters), old?.natural ?? 0);
    const least = header === STATUS
      ? Math.max(pixels(longest(({ status }) => status?.name ?? "")), old?.least ?? 0)
      : header === "NAME"
      ? Math.min(natural, MOST_LEAST_NAME)
      : natural;
    return [header, { natural, least, isEmpty: letters === 0 && (old?.isEmpty ?? true) }];
  }));
}

/** Which columns are shown, and how wide, in pixels. */
export interface Layout {
  shown: { header: string; index: number; width: number }[];
  /** Headers of the columns that have no room. */
  hidden: string[];
}

/**
 * Chooses the columns that fit into `room` pixels. Empty columns go before anything is cut off, then the least important
 * ones, NAME and STATUS never. These two share what is missing, and all columns share what is left, in proportion to their widths.
 */
export function layoutOf(columns: readonly Column[], widths: Readonly<Record<string, Width>>, room: number): Layout {
  let shown = columns.map(({ header, rank }, index) => {
    const { natural = 0, least = 0, isEmpty = false } = widths[header] ?? {};
    return { header, rank: isEmpty ? rank + columns.length + RANKS.length : rank, index, natural, least };
  });
  const hidden: string[] = [];
  const sum = (of: "natural" | "least") => shown.reduce((all, one) => all + one[of], 0);
  const isEmpty = ({ header }: typeof shown[0]) => widths[header]?.isEmpty ?? false;
  while (shown.length > 2 && (sum("least") > room || (sum("natural") > room && shown.some(isEmpty)))) {
    const last = shown.reduce((a, b) => b.rank >= a.rank ? b : a);
    shown = shown.filter((one) => one !== last);
    hidden.unshift(last.header);
  }
  const [most, least] = [sum("natural"), sum("least")];
  const share = most > least ? (room - least) / (most - least) : 1;
  const widthOf = ({ natural, least: own }: typeof shown[0]) =>
    most <= room ? natural * room / most : least >= room ? own * room / least : own + (natural - own) * share;
  return {
    shown: shown.map((one) => ({ header: one.header, index: one.index, width: Math.floor(widthOf(one)) })),
    hidden,
  };
}
