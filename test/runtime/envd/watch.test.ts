/** Watches by E2B's published client, against the runtime. @module */
import { appendFileSync, chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { FileNotFoundError, type FilesystemEvent, InvalidArgumentError, type Sandbox, TimeoutError } from "e2b";
import { expect, onTestFinished, test } from "vitest";
import { EventType, Filesystem } from "../../../packages/runtime-api/gen/e2b/filesystem_pb.ts";
import { gather, type Watcher } from "../../../packages/runtime/e2b/envd/watch.ts";
import { eventually } from "../../eventually.ts";
import { startSandbox } from "./sandbox.ts";

type Options = Parameters<Sandbox["files"]["watchDir"]>[2];

/** Watches a folder, and gathers what is reported as "write name". */
async function watched(sandbox: Sandbox, path: string, options: Options = {}) {
  const events: FilesystemEvent[] = [];
  const exits: unknown[] = [];
  const handle = await sandbox.files.watchDir(path, (event) => void events.push(event), {
    onExit: (error) => void exits.push(error),
    ...options,
  });
  onTestFinished(() => handle.stop());
  return { handle, events, exits, texts: () => events.map(({ type, name }) => `${type} ${name}`) };
}

test("watchDir() reports each change, with names that are relative to the folder", async () => {
  const { sandbox, home } = await startSandbox();
  mkdirSync(join(home, "dir"));
  writeFileSync(join(home, "dir/old"), "1");
  const { texts } = await watched(sandbox, "dir");
  const at = (name: string) => join(home, "dir", name);
  // Steps that follow one another at once: none may hide another one.
  writeFileSync(at("new"), "");
  appendFileSync(at("new"), "1");
  await eventually(texts).toEqual(["create new", "write new"]);
  renameSync(at("new"), at("moved"));
  await eventually(texts).toHaveLength(4);
  rmSync(at("moved"));
  await eventually(texts).toHaveLength(5);
  chmodSync(at("old"), 0o600);
  await eventually(texts).toHaveLength(6);
  mkdirSync(at("sub"));
  writeFileSync(at("sub/not-reported"), "1");
  await eventually(texts).toEqual([
    ...["create new", "write new", "rename new", "create moved", "remove moved", "chmod old", "create sub"],
  ]);
});

test("watchDir() reports what the client writes, and a file that comes and goes", async () => {
  const { sandbox, home } = await startSandbox();
  await sandbox.files.write("dir/a", "1");
  const { texts } = await watched(sandbox, "dir");
  await sandbox.files.write("dir/a", "2");
  await eventually(texts).toEqual(["write a"]);
  await sandbox.files.write("dir/b", "1");
  await sandbox.files.rename("dir/b", "dir/c");
  await sandbox.files.remove("dir/c");
  await eventually(texts).toEqual(["write a", "create b", "write b", "rename b", "create c", "remove c"]);
  writeFileSync(join(home, "dir/short"), "");
  rmSync(join(home, "dir/short"));
  await eventually(() => texts().slice(6)).toEqual(["create short", "remove short"]);
});

test("a recursive watch reports subfolders, also new ones", async () => {
  const { sandbox, home } = await startSandbox();
  mkdirSync(join(home, "dir/sub"), { recursive: true });
  const { texts } = await watched(sandbox, "dir", { recursive: true });
  await sandbox.files.write("dir/sub/file", "1");
  await eventually(texts).toEqual(["create sub/file", "write sub/file"]);
  mkdirSync(join(home, "dir/new/deep"), { recursive: true });
  await eventually(texts).toEqual(["create sub/file", "write sub/file", "create new", "create new/deep"]);
  writeFileSync(join(home, "dir/new/deep/file"), "1");
  await eventually(texts).toHaveLength(6);
  renameSync(join(home, "dir/new"), join(home, "dir/moved"));
  await eventually(() => texts().slice(6)).toEqual(["rename new", "create moved"]);
  writeFileSync(join(home, "dir/moved/deep/file"), "two");
  await eventually(() => texts().slice(8)).toEqual(["write moved/deep/file"]);
  rmSync(join(home, "dir/moved"), { recursive: true });
  await eventually(() => texts().slice(9)).toEqual([
    ...["remove moved/deep/file", "remove moved/deep", "remove moved"],
  ]);
});

test("watchDir() describes the file if it is asked to", async () => {
  const { sandbox, home } = await startSandbox();
  mkdirSync(join(home, "dir"));
  const { events } = await watched(sandbox, "dir", { includeEntry: true, allowNetworkMounts: true });
  writeFileSync(join(home, "dir/a"), "123", { mode: 0o640 });
  await eventually(() => events.length).toBe(2);
  expect(events[1]).toMatchObject({
    name: "a",
    type: "write",
    entry: { path: join(home, "dir/a"), size: 3, mode: 0o640 },
  });
  rmSync(join(home, "dir/a"));
  await eventually(() => events.length).toBe(3);
  expect(events[2]).toEqual({ name: "a", type: "remove", entry: undefined });
});

test("watchDir() ends with stop(), at its time limit, and with its folder", async () => {
  const { sandbox, home } = await startSandbox();
  mkdirSync(join(home, "dir"));
  symlinkSync("dir", join(home, "link"));
  const stopped = await watched(sandbox, "link");
  const limited = await watched(sandbox, "dir", { timeoutMs: 1500 });
  const gone = await watched(sandbox, "dir");
  await stopped.handle.stop();
  await eventually(() => limited.exits).toEqual([expect.any(TimeoutError)]);
  rmSync(join(home, "dir"), { recursive: true });
  await eventually(() => gone.exits).toEqual([undefined]);
  expect(gone.texts()).toEqual(["remove ."]);
  expect(stopped.texts()).toEqual([]);
  writeFileSync(join(home, "file"), "1");
  await expect(watched(sandbox, "none")).rejects.toThrow(FileNotFoundError);
  await expect(watched(sandbox, "file")).rejects.toThrow(InvalidArgumentError);
});

function filesystemAt(port: number) {
  const transport = createConnectTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1" });
  return createClient(Filesystem, transport);
}

test("a watcher keeps events until a client asks for them", async () => {
  const { port, home } = await startSandbox();
  mkdirSync(join(home, "dir"));
  const client = filesystemAt(port);
  const { watcherId } = await client.createWatcher({ path: "dir", recursive: true });
  writeFileSync(join(home, "dir/a"), "1");
  const seen: { name: string; type: EventType }[] = [];
  await eventually(async () => {
    seen.push(...(await client.getWatcherEvents({ watcherId })).events);
    return seen.map(({ name, type }) => [name, type]);
  }).toEqual([["a", EventType.CREATE], ["a", EventType.WRITE]]);
  await client.removeWatcher({ watcherId });
  for (const call of [client.getWatcherEvents, client.removeWatcher]) {
    await expect(call({ watcherId })).rejects.toThrow("[not_found] there is no watcher");
  }
  await expect(client.createWatcher({ path: "none" })).rejects.toThrow("[not_found]");
});

test("watchers that nobody asks end for new ones", async () => {
  const { port } = await startSandbox();
  const client = filesystemAt(port);
  const { watcherId: first } = await client.createWatcher({ path: "" });
  const { watcherId: second } = await client.createWatcher({ path: "" });
  await client.getWatcherEvents({ watcherId: first });
  for (let more = 0; more < 63; more++) await client.createWatcher({ path: "/" });
  await client.getWatcherEvents({ watcherId: first });
  await expect(client.getWatcherEvents({ watcherId: second })).rejects.toThrow("[not_found]");
});

test("gather() keeps so many events, and then fails", async () => {
  async function* many() {
    for (let index = 0; index < 5000; index++) yield await Promise.resolve({ name: `${index}`, type: EventType.WRITE });
  }
  const watcher: Watcher = { events: [], failure: undefined, leaving: new AbortController() };
  await gather(many(), watcher);
  expect(watcher.events).toHaveLength(4096);
  expect(watcher.failure?.message).toContain("events are lost");
});
