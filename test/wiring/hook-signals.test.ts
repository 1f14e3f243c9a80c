/** A hook that is ended while it starts. @module */
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { runServer } from "../../packages/webhook/runhook.ts";

test("a hook listens for SIGTERM before it listens on its port", async () => {
  const before = process.listeners("SIGTERM");
  const added = () => process.listeners("SIGTERM").filter((listener) => !before.includes(listener));
  onTestFinished(() => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      for (const listener of added()) process.off(signal, listener);
    }
  });
  let listeners = 0;
  await runServer({ name: "a", about: "b", flags: {} }, {
    read: () => ({}),
    start: () => {
      listeners = added().length;
      return Promise.resolve({ host: "", port: 0, stop: () => Promise.resolve() });
    },
  });
  expect(listeners).toBe(1);
});
