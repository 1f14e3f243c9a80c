/** Ages and tables against what kubectl prints, and text that is drawn anew. @module */
import { expect, onTestFinished, test, vi } from "vitest";
import { ageOf, humanDuration, untilOf } from "../../packages/summary/age.ts";
import { renderTable, widthsOf } from "../../packages/cli/output.ts";
import { wordsFor } from "../../packages/cli/sandbox.ts";
import { createRedraw } from "../../packages/cli/commands/top.ts";
import { startSpinner } from "../../packages/cli/terminal.ts";
import { fakeContext } from "./fakecontext.ts";

const S = 1000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;

// Source: TestHumanDuration and the code of k8s.io/apimachinery, pkg/util/duration, 1.36.
test.for([
  [-2 * S, "<invalid>"],
  [-1, "0s"],
  [0, "0s"],
  [5 * S, "5s"],
  [70 * S, "70s"],
  [2 * M, "2m"],
  [3 * M + 12 * S, "3m12s"],
  [10 * M + 30 * S, "10m"],
  [179 * M, "179m"],
  [3 * H, "3h"],
  [7 * H + 59 * M, "7h59m"],
  [8 * H + 5 * M, "8h"],
  [47 * H, "47h"],
  [2 * D, "2d"],
  [2 * D + 3 * H, "2d3h"],
  [8 * D + 3 * H, "8d"],
  [729 * D, "729d"],
  [730 * D, "2y"],
  [2 * 365 * D + 20 * D, "2y20d"],
  [9 * 365 * D, "9y"],
] as [number, string][])("humanDuration(%i) is %s", ([ms, want]) => {
  expect(humanDuration(ms)).toBe(want);
});

test("ageOf() and untilOf() say when there is no time", () => {
  const now = new Date("2026-01-01T00:10:00Z");
  expect(ageOf("2026-01-01T00:00:00Z", now)).toBe("10m");
  expect(ageOf(undefined, now)).toBe("<unknown>");
  expect(untilOf("2026-01-01T00:12:00Z", now)).toBe("2m");
  expect(untilOf("2026-01-01T00:09:00Z", now)).toBe("expired");
  expect(untilOf(undefined, now)).toBe("<none>");
});

test("renderTable() pads columns by three spaces, and nothing after the last", () => {
  expect(renderTable(["NAME", "AGE"], [["a-long-name", "5s"], ["b", "2d"]])).toBe(
    "NAME          AGE\na-long-name   5s\nb             2d\n",
  );
});

test("renderTable() counts characters that are seen, not halves of a pair; a cell is one line without colours", () => {
  expect(renderTable(undefined, [["ok", "x"], ["🙂🙂🙂", "y"]])).toBe("ok    x\n🙂🙂🙂   y\n");
  expect(renderTable(undefined, [["\x1b[32mok", "a\nb"]])).toBe("\\u001b[32mok   a\\u000ab\n");
});

test("widthsOf() never falls below the widths before", () => {
  expect(widthsOf([["a", "bb"]], [4])).toEqual([4, 2]);
});

test("what is drawn anew takes the place of what was there, no longer and no wider than the terminal", () => {
  const { context, written } = fakeContext({ isTTY: true });
  const show = createRedraw({ ...context, stdout: { ...context.stdout, columns: 8, rows: 4 } });
  show("one\ntwo\nthree\nfour\n");
  show("too long a line\n");
  show("x\n");
  const end = "\x1b[K\n";
  expect(written.stdout).toBe(
    `\rone${end}two${end}… and 2 ${end}\x1b[J` + `\x1b[3A\rtoo long${end}\x1b[J` + `\x1b[1A\rx${end}\x1b[J`,
  );
});

test("elsewhere it comes behind, with its time", () => {
  const { context, written } = fakeContext();
  const show = createRedraw(context);
  show("one\n");
  show("two\n");
  expect(written.stdout).toBe("2026-11-21T12:00:00.000Z\none\n2026-11-21T12:00:00.000Z\ntwo\n");
});

test("progress in a log is a line every ten seconds, if there is news", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { context, written } = fakeContext();
  const spinner = await startSpinner(context, "Creating a sandbox");
  vi.advanceTimersByTime(9_000);
  expect(written.stderr).toBe("");
  vi.advanceTimersByTime(11_000);
  spinner.setText("Waiting for 11s: WarmPoolNotFound");
  spinner.setText("Waiting for 19s: DependenciesNotReady");
  vi.advanceTimersByTime(10_000);
  spinner.stop();
  vi.advanceTimersByTime(60_000);
  expect(written.stderr).toBe("Creating a sandbox\nWaiting for 19s: DependenciesNotReady\n");
});

test("progress says how long it has taken when it is written, not when the reason last changed", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { context, written } = fakeContext();
  const spinner = await startSpinner(context, "Creating a sandbox");
  spinner.setText(wordsFor({ reason: "DependenciesNotReady", message: "", elapsedMs: 0 }));
  vi.advanceTimersByTime(10_000);
  spinner.stop();
  expect(written.stderr).toBe("Waiting for 10s: DependenciesNotReady\n");
});
