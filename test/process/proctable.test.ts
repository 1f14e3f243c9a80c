/** parseStat() on lines that are known, readProcess() on processes that are there. @module */
import { expect, test } from "vitest";
import { parseStat, readProcess } from "../../packages/process/proctable.ts";

const stat = (name: string) => `42 (${name}) S 1${" 0".repeat(9)} 120 30${" 0".repeat(6)} 777 0 0\n`;

test.for(["sh", "a b", "x) S 1 2 (y"])("parseStat() reads the times of a process named %j", (name) => {
  expect(parseStat(stat(name))).toMatchObject({ name, startTicks: 777, cpuSeconds: 1.5 });
});

test("parseStat() reads a name with blanks and parentheses", () => {
  const line = "42 (a) b) S 7 42 41 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 5 1000000 25 18446744073709551615\n";
  expect(parseStat(line)).toEqual({
    pid: 42,
    name: "a) b",
    state: "S",
    ppid: 7,
    pgid: 42,
    sid: 41,
    cpuSeconds: 2,
    rssBytes: 25 * 4096,
    startTicks: 5,
  });
});

test("readProcess() reads one that is there, and no other", () => {
  expect(readProcess(1)).toMatchObject({ pid: 1, ppid: 0 });
  expect(readProcess(2 ** 31 - 1)).toBeUndefined();
});
