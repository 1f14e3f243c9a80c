/** Waiting for what other processes do, on a machine that may be busy; importing it gives tests time. @module */
import { expect, vi } from "vitest";

vi.setConfig({ testTimeout: 60_000 });

/** `expect.poll` that gives up late. What it reads is for the matcher behind it: one inside would never be asked. */
export function eventually<T>(read: [Awaited<T>] extends [void] ? never : () => T) {
  return expect.poll(read, { timeout: 30_000 });
}
