/** Waiting for what other processes do, on a machine that may be busy; importing it gives tests time. @module */
import { expect, vi } from "vitest";

vi.setConfig({ testTimeout: 60_000 });

/** `expect.poll` that gives up late. */
export function eventually<T>(read: () => T) {
  return expect.poll(read, { timeout: 30_000 });
}
