/** What the lists of the dashboard show, in which order and how wide. @module */
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { KIND_LISTS, type Sort } from "../../packages/dashboard/route.ts";
import {
  countsOf,
  filtered,
  filterFault,
  inOrder,
  type KnownRows,
  layoutOf,
  listColumns,
  makeColumn,
  poolStatusWith,
  type Row,
  rowsOf,
  widthsOf,
} from "../../packages/dashboard/rows.ts";
import { endingsOf } from "../../packages/dashboard/selection.tsx";
import type { Status, Tone } from "../../packages/summary/status.ts";

const NOW = new Date("2026-01-02T00:00:00Z");
const [SANDBOXES, CLAIMS, POOLS, TEMPLATES] = KIND_LISTS as [
  typeof KIND_LISTS[0],
  typeof KIND_LISTS[0],
  typeof KIND_LISTS[0],
  typeof KIND_LISTS[0],
];
const ago = (seconds: number) => new Date(NOW.getTime() - 1000 * seconds).toISOString();
const DAY = 86_400;

/** A Sandbox, and its status as the test wants it. */
function aRow(
  { name, tone = "good", status = "Running", age = 60, note, ...more }: {
    name: string;
    tone?: Tone;
    status?: string;
    note?: string;
    age?: number;
    labels?: Record<string, string>;
    shutdownTime?: string;
  },
): { object: KubeObject; status: Status } {
  const { labels = {}, shutdownTime } = more;
  return {
    object: {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { namespace: "team-a", name, uid: `uid-${name}`, creationTimestamp: ago(age), labels },
      spec: { podTemplate: { spec: { containers: [] } }, ...shutdownTime === undefined ? {} : { shutdownTime } },
    },
    status: { name: status, tone, ...note === undefined ? {} : { note } },
  };
}

const COLUMNS = listColumns(SANDBOXES, { allNamespaces: true });

function rows(...all: Parameters<typeof aRow>[0][]): Row[] {
  const made = all.map(aRow);
  const statuses = new Map(made.map(({ object, status }) => [object, status]));
  return rowsOf(made.map(({ object }) => object), COLUMNS, (object) => statuses.get(object), NOW);
}

const names = (some: readonly Row[]) => some.map(({ object }) => object.metadata.name);
const cellOf = (row: Row | undefined, header: string) =>
  row?.cells[COLUMNS.findIndex((column) => column.header === header)];

test.for([
  { list: SANDBOXES, want: ["NAME", "STATUS", "CLAIM", "AGE", "POD IP", "NODE", "EXPIRES", "POOL"] },
  { list: CLAIMS, want: ["NAME", "STATUS", "SANDBOX", "AGE", "POOL", "POD IP", "EXPIRES"] },
  { list: POOLS, want: ["NAME", "STATUS", "READY", "DESIRED", "TEMPLATE", "AGE", "UPDATES"] },
  { list: TEMPLATES, want: ["NAME", "IMAGES", "AGE", "RUNTIME"] },
])("listColumns() of $list.title has one STATUS in place of READY, REASON and MODE", ({ list, want }) => {
  const headers = (allNamespaces: boolean) => listColumns(list, { allNamespaces }).map(({ header }) => header);
  expect(headers(false)).toEqual(want);
  expect(headers(true)).toEqual(["NAMESPACE", ...want]);
});

describe("rowsOf()", () => {
  test("shows the status with its note, and nothing for what is not known", () => {
    const [row] = rows({ name: "a", status: "CrashLoopBackOff", tone: "bad", note: "6 restarts, exit code 3" });
    expect(row?.key).toBe("team-a/a");
    expect(cellOf(row, "STATUS")).toBe("CrashLoopBackOff (6 restarts, exit code 3)");
    expect(cellOf(row, "CLAIM")).toBe("");
  });

  test.for([{ age: -300, want: "0s" }, { age: -1, want: "0s" }, { age: 61, want: "61s" }])(
    "shows age $want of an object created $age s ago: the clock of the browser may be slow",
    ({ age, want }) => {
      expect(cellOf(rows({ name: "a", age })[0], "AGE")).toBe(want);
    },
  );
});

test("rowsOf() makes a row again if its object, its status or the time has changed, and otherwise not", () => {
  const [{ object: kept, status }, { object: changed }] = [aRow({ name: "a" }), aRow({ name: "b" })];
  const known: KnownRows = new WeakMap();
  const rowsWith = (objects: KubeObject[], more: { status?: Status; now?: Date } = {}) =>
    rowsOf(objects, COLUMNS, () => more.status ?? status, more.now ?? NOW, known);
  const [a, b] = rowsWith([kept, changed]);
  const later = { ...changed, metadata: { ...changed.metadata, name: "c" } };
  const again = rowsWith([kept, later]);
  expect(again[0]).toBe(a);
  expect(again[1]).not.toBe(b);
  expect(names(again)).toEqual(["a", "c"]);
  expect(cellOf(again[1], "NAME")).toBe("c");
  const crashed = { name: "CrashLoopBackOff", tone: "bad" } as const;
  expect(cellOf(rowsWith([kept], { status: crashed })[0], "STATUS")).toBe("CrashLoopBackOff");
  expect(cellOf(rowsWith([kept], { now: new Date(NOW.getTime() + 30_000) })[0], "AGE")).toBe("90s");
});

describe("filtered()", () => {
  const all = rows(
    { name: "old", age: 2 * DAY, labels: { team: "blue" } },
    { name: "young", age: 300, status: "Starting", tone: "progress" },
    { name: "new", age: 5 },
  );

  test.for([
    { filter: "", want: ["old", "young", "new"] },
    { filter: "  OLD ", want: ["old"] },
    { filter: "start young", want: ["young"] },
    { filter: "start old", want: [] },
    { filter: "team=blue", want: ["old"] },
    { filter: "age>1d", want: ["old"] },
    { filter: "age<1d", want: ["young", "new"] },
    { filter: "age<1h young", want: ["young"] },
    { filter: "age>=1d", want: ["old"] },
    { filter: "age > 1 d", want: ["old"] },
    { filter: "age<1.5h young", want: ["young"] },
    ...["age>", "age>2", "age>abc", "age<5 minutes", "age>1day", "age>1h old age<x"].map((filter) => ({
      filter,
      want: [],
    })),
  ])("$filter leaves $want", ({ filter, want }) => {
    expect(names(filtered(all, filter, NOW))).toEqual(want);
  });

  test("says what is wrong with an age", () => {
    expect(["age>1d", "age <= 2 h old", "age", "team=age>"].map(filterFault)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(filterFault("old age>1day")).toBe(
      'Cannot read "age>1day" in the filter: write an age as in age>1d, with one of the units s, m, h, d and w.',
    );
  });

  test("no word matches the end of one column with the beginning of the next", () => {
    expect(filtered(all, "team-aold", NOW)).toEqual([]);
  });
});

test.for([
  { reason: "most claims got a member", counts: { warm: 3, cold: 3 }, want: { name: "Full", tone: "good" } },
  { reason: "no claim came", counts: { warm: 0, cold: 0 }, want: { name: "Full", tone: "good" } },
  { reason: "it was empty each time", counts: { warm: 0, cold: 4 }, want: { tone: "progress", note: "was empty" } },
  { reason: "it was empty mostly", counts: { warm: 1, cold: 4 }, want: { detail: /^Only 1 of the 5 claims/ } },
])("a full pool is good only if it serves its claims: $reason", ({ counts, want }) => {
  const full: Status = { name: "Full", tone: "good" };
  const { detail, ...more } = { detail: undefined, ...want };
  const status = poolStatusWith(full, counts);
  expect(status).toMatchObject(detail ? { ...more, detail: expect.stringMatching(detail) } : more);
  const filling: Status = { name: "Filling", tone: "progress" };
  expect(poolStatusWith(filling, counts)).toBe(filling);
});

describe("countsOf()", () => {
  const all = rows(
    { name: "a" },
    { name: "b" },
    { name: "c", status: "Suspended", tone: "off" },
    { name: "d", status: "Unschedulable", tone: "bad" },
    { name: "e", status: "Starting", tone: "progress" },
  );

  test("counts each status, problems first", () => {
    expect(countsOf(all).map(({ name, count }) => [name, count])).toEqual([
      ["Unschedulable", 1],
      ["Starting", 1],
      ["Running", 2],
      ["Suspended", 1],
    ]);
  });

  test("a status has the worst tone of its rows", () => {
    const pools = rows({ name: "a", status: "Full" }, { name: "b", status: "Full", tone: "progress" }, {
      name: "c",
      status: "Full",
    });
    expect(countsOf(pools)).toEqual([{ name: "Full", tone: "progress", count: 3 }]);
  });

  test("keeps a selected status when its last row has left, so that a click can end the selection", () => {
    expect(countsOf(all, ["Waking", "Starting"])).toContainEqual({ name: "Waking", tone: "off", count: 0 });
    expect(countsOf(all, ["Starting", "Waking"]).filter(({ name }) => name === "Starting")).toEqual([
      { name: "Starting", tone: "progress", count: 1 },
    ]);
  });
});

describe("inOrder()", () => {
  const all = rows(
    { name: "s-10", age: 5, status: "Running", tone: "good" },
    { name: "s-2", age: 2 * DAY, status: "Suspended", tone: "off", shutdownTime: ago(-60) },
    { name: "s-9", age: 300, status: "CrashLoopBackOff", tone: "bad", shutdownTime: ago(-30 * DAY) },
  );
  const by = (column: string, isDescending = false): Sort => ({ column, isDescending });

  test.for([
    { sort: undefined, want: ["s-10", "s-2", "s-9"] },
    { sort: by("name"), want: ["s-2", "s-9", "s-10"] },
    { sort: by("name", true), want: ["s-10", "s-9", "s-2"] },
    { sort: by("age"), want: ["s-10", "s-9", "s-2"] },
    { sort: by("age", true), want: ["s-2", "s-9", "s-10"] },
    { sort: by("status"), want: ["s-9", "s-10", "s-2"] },
    { sort: by("expires"), want: ["s-2", "s-9", "s-10"] },
    { sort: by("expires", true), want: ["s-9", "s-2", "s-10"] },
    { sort: by("claim"), want: ["s-10", "s-2", "s-9"] },
    { sort: by("no-such-column"), want: ["s-10", "s-2", "s-9"] },
  ])("$sort.column, descending: $sort.isDescending", ({ sort, want }) => {
    expect(names(inOrder(all, COLUMNS, sort))).toEqual(want);
  });
});

describe("layoutOf()", () => {
  const columns = ["NAMESPACE", "NAME", "STATUS", "AGE", "NODE", "POD IP"].map((header) =>
    makeColumn(header, () => "")
  );
  const fixed = (natural: number) => ({ natural, least: natural, isEmpty: false });
  const widths = {
    NAMESPACE: fixed(100),
    NAME: { ...fixed(300), least: 150 },
    STATUS: { ...fixed(200), least: 170 },
    AGE: fixed(60),
    NODE: fixed(120),
    "POD IP": fixed(120),
  };
  const headers = (room: number) => layoutOf(columns, widths, room).shown.map(({ header }) => header);

  test("drops the least important columns first, and never NAME and STATUS", () => {
    expect(headers(900)).toEqual(["NAMESPACE", "NAME", "STATUS", "AGE", "NODE", "POD IP"]);
    expect(headers(700)).toEqual(["NAMESPACE", "NAME", "STATUS", "AGE", "NODE"]);
    expect(headers(500)).toEqual(["NAMESPACE", "NAME", "STATUS", "AGE"]);
    expect(headers(450)).toEqual(["NAMESPACE", "NAME", "STATUS"]);
    expect(headers(100)).toEqual(["NAME", "STATUS"]);
    expect(layoutOf(columns, widths, 450).hidden).toEqual(["AGE", "NODE", "POD IP"]);
  });

  test("drops empty columns before all others", () => {
    const { shown } = layoutOf(columns, { ...widths, AGE: { ...widths.AGE, isEmpty: true } }, 670);
    expect(shown.map(({ header }) => header)).toEqual(["NAMESPACE", "NAME", "STATUS", "NODE", "POD IP"]);
  });

  test.for([1500, 900, 800, 700, 600, 500, 450, 400, 200])("fills %d pixels, and no more", (room) => {
    const { shown } = layoutOf(columns, widths, room);
    const sum = shown.reduce((all, { width }) => all + width, 0);
    expect(sum).toBeLessThanOrEqual(room);
    expect(sum).toBeGreaterThan(room - columns.length);
  });
});

test("widthsOf() follow the longest cell of all rows, and never become narrower", () => {
  const short = widthsOf(COLUMNS, rows({ name: "a", tone: "bad", status: "CrashLoopBackOff", note: "6 restarts" }));
  const long = widthsOf(COLUMNS, rows({ name: "a" }, { name: "a-name-that-is-longer" }), short);
  expect(long["NAME"]!.natural).toBeGreaterThan(short["NAME"]!.natural);
  expect(long["AGE"]).toEqual(short["AGE"]);
  expect(widthsOf(COLUMNS, rows({ name: "a" }), long)).toEqual(long);
  expect(widthsOf(COLUMNS, [], long), "rows that were measured before may be left out").toEqual(long);
  expect(long["STATUS"]!.least, "the note may be cut off").toBeLessThan(long["STATUS"]!.natural);
  expect([long["NAME"]!.isEmpty, long["NODE"]!.isEmpty]).toEqual([false, true]);
});

test("endingsOf() ends a claimed sandbox with its claim, once, and says what a pool replaces", () => {
  const owned = (name: string, kind: string, owner: string) => {
    const { object } = aRow({ name });
    const reference = { apiVersion: "v1", kind, name: owner, uid: `uid-${owner}`, controller: true };
    return { ...object, metadata: { ...object.metadata, ownerReferences: [reference] } };
  };
  const { object: bare } = aRow({ name: "bare" });
  const { object: session } = aRow({ name: "session" });
  const claim = { ...session, kind: "SandboxClaim" };
  const endings = endingsOf([
    bare,
    owned("s-1", "SandboxClaim", "session"),
    claim,
    owned("s-2", "SandboxClaim", "other"),
    owned("p-1", "SandboxWarmPool", "agents"),
  ]);
  expect(endings.map(({ kind, name, uid, how }) => [kind, name, uid, how])).toEqual([
    ["Sandbox", "bare", "uid-bare", "itself"],
    ["SandboxClaim", "session", "uid-session", "itself"],
    ["SandboxClaim", "other", "uid-other", "claimed"],
    ["Sandbox", "p-1", "uid-p-1", "member"],
  ]);
});
