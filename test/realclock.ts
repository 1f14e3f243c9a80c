/**
 * For test files that share a process: fails a file that leaves fake timers or a fake Date behind, and restores the real ones.
 * With fake timers, the next file in the process would wait for ever. @module
 */
import { afterAll, expect, vi } from "vitest";

const NAMES = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "Date"] as const;
const real = new Map<string, unknown>(NAMES.map((name) => [name, globalThis[name]]));

afterAll(() => {
  // Vitest does this too, once the file has ended. A spy on a fake function then brings the fake function back.
  vi.restoreAllMocks();
  const fake = NAMES.filter((name) => globalThis[name] !== real.get(name));
  vi.useRealTimers();
  for (const name of fake) Object.assign(globalThis, { [name]: real.get(name) });
  expect(fake, "still fake: restore spies before vi.useRealTimers()").toEqual([]);
});
