/** @module */
import { expect, test } from "vitest";
import { withLock } from "../../../dev/cluster/lock.ts";
import { eventually } from "../../eventually.ts";

test("withLock() lets one in at a time, tells who waits, and lets the next in after an error", async () => {
  const events: string[] = [];
  const name = `test ${Math.random()}`;
  let leave = () => {};
  const first = withLock(name, async () => {
    events.push("first in");
    await new Promise<void>((resolve) => leave = resolve);
    events.push("first out");
    throw new Error("failed");
  });
  await eventually(() => events).toEqual(["first in"]);
  const onWait = () => {
    events.push("second waits");
    leave();
  };
  const second = withLock(name, () => Promise.resolve(events.push("second in")), { onWait });
  await expect(first).rejects.toThrow("failed");
  await second;
  expect(events).toEqual(["first in", "second waits", "first out", "second in"]);
});

test("withLock() does not make those wait who lock something else", async () => {
  const name = `test ${Math.random()}`;
  const inner = withLock(name, () => withLock(`${name} other`, () => Promise.resolve("both")));
  expect(await inner).toBe("both");
});

test("withLock() gives up waiting with the signal", async () => {
  const name = `test ${Math.random()}`;
  const abort = new AbortController();
  const onWait = () => abort.abort();
  await withLock(name, async () => {
    const waiting = withLock(name, () => Promise.resolve(), { onWait, signal: abort.signal });
    await expect(waiting).rejects.toThrow("aborted");
  });
});
