/** watch() and watchDir() on a real runtime: events, gaps, and how a watch ends. @module */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { setImmediate } from "node:timers";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { ConnectionError, FileNotFoundError } from "../../../packages/sdk/errors.ts";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { type FileEvent, watchFolder, type WatchHandle } from "../../../packages/sdk/files/watch.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import { hurry } from "../../hurry.ts";
import { eventually, until as settled } from "../../eventually.ts";
import { watchForCrashes } from "../../fuzz/wire.ts";
import { aSandbox, localTransport, OBJECT } from "../localtransport.ts";
import { aProxy } from "../proxy.ts";

async function through() {
  const { port, at } = await aSandbox({ "d/old": "", "d/sub/f": "" });
  const proxy = await aProxy(port);
  const runtimeClient = createRuntimeClient(localTransport(proxy.port), OBJECT, undefined);
  return { at, proxy, runtimeClient, ...createFiles(runtimeClient) };
}

/** Takes events until one is as wanted; returns all of them. */
async function until(
  events: AsyncIterator<FileEvent>,
  wanted: Partial<Record<string, string>>,
): Promise<FileEvent[]> {
  const seen: FileEvent[] = [];
  while (true) {
    const { done, value } = await events.next();
    if (done) throw new Error(`ended after ${JSON.stringify(seen)}`);
    seen.push(value);
    if (Object.entries(wanted).every(([key, text]) => (value as Record<string, string>)[key] === text)) return seen;
  }
}

test("watch() begins with ready; paths are those that other calls take", async () => {
  const { at, watch, read } = await through();
  const events = watch("/d/", { recursive: true });
  expect(await until(events, { type: "ready" })).toEqual([{ type: "ready" }]);
  writeFileSync(at("d/sub/new"), "1");
  const created = (await until(events, { type: "created" })).at(-1);
  expect(created).toEqual({ type: "created", path: "/d/sub/new", kind: "file" });
  expect(await read("/d/sub/new")).toBe("1");
  rmSync(at("d/old"));
  expect((await until(events, { type: "removed" })).at(-1)).toEqual({ type: "removed", path: "/d/old" });
  await events.return(undefined);
});

test("watch() ends with the folder, and with its signal", async () => {
  const { at, watch } = await through();
  const events = watch("d/sub");
  await events.next();
  rmSync(at("d/sub"), { recursive: true });
  expect((await until(events, { path: "d/sub" })).at(-1)).toEqual({ type: "removed", path: "d/sub" });
  expect(await events.next()).toEqual({ done: true, value: undefined });
  const leaving = new AbortController();
  const other = watch("d", { signal: leaving.signal });
  await other.next();
  const next = other.next();
  leaving.abort(new Error("enough"));
  await expect(next).rejects.toThrow("enough");
  for (const path of ["none", "d/old"]) await expect(watch(path).next()).rejects.toThrow(FileNotFoundError);
});

test("a broken connection is a gap, after which events come again", async () => {
  const { at, watch, proxy } = await through();
  const events = watch("d");
  await events.next();
  proxy.breakOff();
  expect(await until(events, { type: "gap" })).toEqual([{ type: "gap", reason: "reconnected" }]);
  writeFileSync(at("d/new"), "");
  expect((await until(events, { type: "created" })).at(-1)).toMatchObject({ path: "d/new" });
  proxy.breakOff();
  rmSync(at("d"), { recursive: true });
  expect((await until(events, { path: "d" })).at(-1)).toEqual({ type: "removed", path: "d" });
});

test("a connection on which nothing comes for too long is broken; without reconnecting that ends the watch", async () => {
  const { runtimeClient, proxy } = await through();
  const events = watchFolder(runtimeClient, "d", {}, 2000);
  await events.next();
  expect((await events.next()).value).toEqual({ type: "gap", reason: "reconnected" });
  await events.return(undefined);
  const once = watchFolder(runtimeClient, "d", { reconnect: false });
  await once.next();
  const next = once.next();
  proxy.breakOff();
  await expect(next).rejects.toThrow(ConnectionError);
});

test("watch() gives up where nobody answers any more", async () => {
  const { watch, proxy } = await through();
  const events = watch("d");
  await events.next();
  hurry(20);
  proxy.refuse(true);
  await expect(events.next()).rejects.toThrow(ConnectionError);
});

test("watchDir() calls back until it is stopped, and tells how it ended", async () => {
  const { at, watchDir } = await through();
  const seen: FileEvent[] = [];
  const ends: unknown[] = [];
  const onExit = (error?: unknown) => ends.push(error);
  const handle = await watchDir("d", (event) => seen.push(event), { onExit });
  writeFileSync(at("d/new"), "");
  await eventually(() => seen[0]).toEqual({ type: "created", path: "d/new", kind: "file" });
  await handle.stop();
  mkdirSync(at("d/after"));
  const failing = await watchDir("d", () => Promise.reject(new RangeError("mine")), { onExit });
  writeFileSync(at("d/newer"), "");
  await expect(failing.closed).rejects.toThrow("mine");
  expect(ends).toEqual([undefined, new RangeError("mine")]);
  expect(JSON.stringify(seen)).not.toContain("after");
  await expect(watchDir("none", () => {})).rejects.toThrow(FileNotFoundError);
});

test.for<[string, (watching: Watching) => unknown]>([
  ["its own signal", ({ leaving }) => leaving.abort()],
  ["a callback that throws", ({ at }) => writeFileSync(at("d/new"), "")],
  ["a runtime that is gone", ({ stop }) => stop()],
  ["stop()", ({ handle }) => handle.stop()],
])("a watch that ends by %s ends no program that does not ask how", async ([, end]) => {
  const { crashes, stop: stopWatching } = watchForCrashes();
  onTestFinished(stopWatching);
  const sandbox = await aSandbox({ "d/old": "" });
  hurry(50);
  const { watchDir } = createFiles(sandbox.runtimeClient);
  const leaving = new AbortController();
  const fail = () => {
    throw new Error("mine");
  };
  const handle = await watchDir("d", fail, { signal: leaving.signal });
  await end({ ...sandbox, leaving, handle });
  // A handler on `closed` would handle its rejection: this only looks whether the promise is settled.
  await settled(() => !inspect(handle.closed).includes("<pending>"));
  // Those that nobody handles are reported after the microtasks of this turn.
  await new Promise((resolve) => setImmediate(resolve));
  expect(crashes).toEqual([]);
});

type Watching = Awaited<ReturnType<typeof aSandbox>> & { leaving: AbortController; handle: WatchHandle };
