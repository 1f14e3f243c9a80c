/** E2B's published code interpreter for Python on the runtime, and data frames and figures as data. Needs no cluster. @module */
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { ranProgram } from "../ranprogram.ts";
import { sandboxAt } from "../runtime/interpreter/sandbox.ts";
import { startOpenRuntime } from "../runtime/servers.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { INTERPRETED } from "./interpreted.ts";
import { E2B, OLD_E2B, pythonWith } from "./python.ts";

const say = (line: string) => process.stdout.write(`clients: ${line}\n`);
const PROGRAM = fileURLToPath(new URL("programs/codeinterpreter.py", import.meta.url));
const WAS_PATH = process.env["PATH"];

let python: string;
beforeAll(async () => void (python = await pythonWith(E2B, say)));

/** A runtime whose Python has pandas and matplotlib. */
async function startRuntime() {
  process.env["PATH"] = `${dirname(python)}:${WAS_PATH}`;
  onTestFinished(() => void (process.env["PATH"] = WAS_PATH));
  const runtime = await startOpenRuntime(makeTempFolder());
  onTestFinished(() => runtime.stop());
  return runtime;
}

test.for([
  { packages: E2B, how: "sync" },
  { packages: E2B, how: "async" },
  { packages: OLD_E2B, how: "sync" },
  { packages: OLD_E2B, how: "async" },
])("$packages.name for Python does everything that it can, $how", async ({ packages, how }) => {
  const client = await pythonWith(packages, say);
  const { interpreterPort } = await startRuntime();
  const env = {
    ...process.env,
    E2B_DEBUG: "true",
    E2B_API_KEY: "e2b_00",
    E2B_SANDBOX_URL: `http://127.0.0.1:${interpreterPort}`,
  };
  const args = [PROGRAM, how, makeTempFolder(), "{}", String(interpreterPort)];
  const stdout = await ranProgram(client, args, { env });
  expect(JSON.parse(stdout)).toEqual(INTERPRETED);
});

const NONE = { title: null, x_label: null, y_label: null, x_unit: null, y_unit: null };
const IMPORTS = "import datetime, matplotlib.pyplot as plt, pandas as pd\n";
const Y = { y_ticks: expect.any(Array), y_tick_labels: expect.any(Array), y_scale: "linear" };
const X = { x_ticks: expect.any(Array), x_tick_labels: expect.any(Array), x_scale: "linear" };
const DAYS = "pd.date_range('2024-01-01', periods=2)";
const DATES = { ...X, x_scale: "datetime", x_ticks: expect.arrayContaining(["2024-01-01T00:00:00"]) };

const CHARTS: { name: string; code: string; want: object | undefined }[] = [
  {
    name: "lines with names, units and without lines across the axes",
    code: "plt.plot([1, 2], [3, float('nan')], label='sin'); plt.plot([1, 2], [4, 5]); plt.axhline(3); " +
      "plt.title('T'); plt.xlabel('Time (s)'); plt.ylabel('Way [m]'); plt.xticks([1, 2]); plt.yscale('log')",
    want: {
      type: "line",
      title: "T",
      x_label: "Time (s)",
      y_label: "Way [m]",
      x_unit: "s",
      y_unit: "m",
      x_ticks: [1, 2],
      x_tick_labels: ["1", "2"],
      x_scale: "linear",
      ...Y,
      y_scale: "log",
      elements: [{ label: "sin", points: [[1, 3], [2, null]] }, { label: "Line 2", points: [[1, 4], [2, 5]] }],
    },
  },
  {
    name: "a line over times",
    code: `plt.plot(${DAYS}, [1, 2])`,
    want: {
      type: "line",
      ...NONE,
      ...DATES,
      ...Y,
      elements: [{ label: "Line 1", points: [["2024-01-01T00:00:00", 1], ["2024-01-02T00:00:00", 2]] }],
    },
  },
  {
    name: "a line of pandas over times",
    code: `pd.Series([1, 2], index=${DAYS}, name='s').plot(legend=True)`,
    want: {
      type: "line",
      ...NONE,
      ...DATES,
      ...Y,
      elements: [{ label: "s", points: [["2024-01-01T00:00:00", 1], ["2024-01-02T00:00:00", 2]] }],
    },
  },
  {
    name: "points over names",
    code: "plt.scatter(['a', 'b'], [1, 2], c=[1, 2], label='g'); plt.colorbar()",
    want: {
      type: "scatter",
      ...NONE,
      x_ticks: ["a", "b"],
      x_tick_labels: ["a", "b"],
      x_scale: "categorical",
      ...Y,
      elements: [{ label: "g", points: [["a", 1], ["b", 2]] }],
    },
  },
  {
    name: "points over numbers and times",
    code: "plt.scatter([1.5], [datetime.date(2024, 1, 1)])",
    want: {
      type: "scatter",
      ...NONE,
      ...X,
      ...Y,
      y_scale: "datetime",
      elements: [{ label: "Group 1", points: [[1.5, "2024-01-01T00:00:00"]] }],
    },
  },
  {
    name: "bars",
    code: "plt.bar(['Author A', 'Author B'], [100, 200], label='Sold'); plt.xlabel('Authors')",
    want: {
      type: "bar",
      ...NONE,
      x_label: "Authors",
      elements: [{ label: "Author A", group: "Sold", value: 100 }, { label: "Author B", group: "Sold", value: 200 }],
    },
  },
  {
    name: "horizontal bars, whose names count as x",
    code: "plt.barh(['a'], [3]); plt.ylabel('Name'); plt.xlabel('Size (m)')",
    want: {
      type: "bar",
      ...NONE,
      x_label: "Name",
      y_label: "Size (m)",
      y_unit: "m",
      elements: [{ label: "a", group: "", value: 3 }],
    },
  },
  {
    name: "bars in groups, of pandas",
    code: "pd.DataFrame({'m': [1, 2], 'w': [3, 4]}, index=['G1', 'G2']).plot.bar()",
    want: {
      type: "bar",
      ...NONE,
      elements: [
        { label: "G1", group: "m", value: 1 },
        { label: "G2", group: "m", value: 2 },
        { label: "G1", group: "w", value: 3 },
        { label: "G2", group: "w", value: 4 },
      ],
    },
  },
  {
    name: "a histogram",
    code: "plt.hist([1, 1, 3], bins=2)",
    want: {
      type: "bar",
      ...NONE,
      elements: [{ label: "1.5", group: "", value: 2 }, { label: "2.5", group: "", value: 1 }],
    },
  },
  {
    name: "a pie",
    code: "plt.pie([1, 3], labels=['a', 'b'], autopct='%1.0f', shadow=True); plt.title('P')",
    want: {
      type: "pie",
      title: "P",
      elements: [{ label: "a", angle: 90, radius: 1 }, { label: "b", angle: 270, radius: 1 }],
    },
  },
  {
    name: "boxes",
    code: "plt.boxplot([[1, 2, 3, 4, 20], [2, 3, 4]], patch_artist=True); plt.xticks([1, 2], ['A', 'B'])",
    want: {
      type: "box_and_whisker",
      ...NONE,
      elements: [
        { label: "A", min: 1, first_quartile: 2, median: 3, third_quartile: 4, max: 4, outliers: [20] },
        { label: "B", min: 2, first_quartile: 2.5, median: 3, third_quartile: 3.5, max: 4, outliers: [] },
      ],
    },
  },
  {
    name: "what it does not know",
    code: "plt.imshow([[1, 2], [3, 4]]); plt.title('Image')",
    want: { type: "unknown", title: "Image", elements: [] },
  },
  {
    name: "lines in space, which it does not know",
    code: "plt.figure().add_subplot(projection='3d').plot([1], [2], [3])",
    want: { type: "unknown", title: null, elements: [] },
  },
  {
    name: "axes without boxes that were there before",
    code: "plt.boxplot([1, 2, 3]); plt.cla(); plt.pie([1])",
    want: { type: "pie", title: null, elements: [{ label: "", angle: 360, radius: 1 }] },
  },
  {
    name: "several axes",
    code: "f, (a, b) = plt.subplots(1, 2); a.pie([1], labels=['x']); b.imshow([[1]]); f.suptitle('Both')",
    want: {
      type: "superchart",
      title: "Both",
      elements: [
        { type: "pie", title: null, elements: [{ label: "x", angle: 360, radius: 1 }] },
        { type: "unknown", title: null, elements: [] },
      ],
    },
  },
  {
    name: "no chart of too many points, which would fill the memory",
    code: "plt.plot(range(100_001))",
    want: undefined,
  },
];

test("the published client for JavaScript gets figures as charts", async () => {
  const { interpreterPort } = await startRuntime();
  const sandbox = sandboxAt(`http://127.0.0.1:${interpreterPort}`);
  for (const { name, code, want } of CHARTS) {
    const { results, error, logs } = await sandbox.runCode(`${IMPORTS}${code}\nplt.show()`);
    expect([error, logs], name).toEqual([undefined, { stdout: [], stderr: [] }]);
    expect(results, name).toEqual([expect.objectContaining({ png: expect.stringMatching(/^iVBORw0K/) })]);
    expect(results[0]?.chart, name).toEqual(want);
  }
});

test("the published client for JavaScript gets data frames as lists of their columns", async () => {
  const { interpreterPort } = await startRuntime();
  const sandbox = sandboxAt(`http://127.0.0.1:${interpreterPort}`);
  const code =
    `pd.DataFrame({"n": [1, 2.5], "t": pd.to_datetime(["2024-01-01T10:00", None]), "s": ["a", None], "b": [True, False]})`;
  const { results: [table] } = await sandbox.runCode(`${IMPORTS}${code}`);
  expect(table?.data).toEqual({ n: [1, 2.5], t: ["2024-01-01T10:00:00", null], s: ["a", null], b: [true, false] });
  expect(table?.formats()).toEqual(["html", "data"]);
  expect(table?.text).toContain("2024-01-01 10:00:00");
});
