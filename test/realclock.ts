/**
 * After each file whose process goes on with other files: the functions of time are the machine's again, and a file fails that
 * has left others. The next file would wait for ever. @module
 */
import { afterAll, expect, vi } from "vitest";

const TIMES = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "Date"] as const;
/** One for all files of the process: a file that begins with others must not take them for the machine's. */
const KEY = Symbol.for("hookbox.test.machine-clock");
const kept = globalThis as { [KEY]?: Map<string, unknown> };
const machines = kept[KEY] ??= new Map(TIMES.map((name) => [name, globalThis[name]]));

afterAll(() => {
  // As Vitest does by itself once the file is over: spies end, and bring back what they were put upon.
  vi.restoreAllMocks();
  const left = TIMES.filter((name) => globalThis[name] !== machines.get(name));
  vi.useRealTimers();
  for (const name of left) Object.assign(globalThis, { [name]: machines.get(name) });
  expect(left, "functions that are still others than the machine's: end spies before vi.useRealTimers()").toEqual([]);
});
