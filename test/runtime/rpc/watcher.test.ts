/** watcher.v1.FileWatcherService over gRPC: each change is reported once, and a watch ends as it should. @module */
import { Buffer } from "node:buffer";
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { Code, createClient } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";
import {
  type FileEvent,
  FileEventType,
  FileWatcherService,
} from "../../../packages/runtime-api/gen/watcher/v1/watcher_pb.ts";
import { type ChangeKind, changesOf, type LastStates } from "../../../packages/runtime/rpc/watcher.ts";
import { makeRoot } from "../folders.ts";
import { aServer } from "./serving.ts";

/** Watches, and returns what is reported until a file `mark…` comes that nobody has seen yet. */
async function aWatch(path: string, recursive: boolean, files: (root: string) => void = () => {}) {
  const { root, transport } = await aServer();
  mkdirSync(`${root}/d`);
  files(root);
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const client = createClient(FileWatcherService, transport);
  const events = client.watchDir({ path, recursive }, { signal: leaving.signal })[Symbol.asyncIterator]();
  const seen: FileEvent[] = [];
  let marks = 0;
  const upTo = async (mark: string): Promise<string[]> => {
    for (;;) {
      const { value, done } = await events.next();
      if (done) return textsOf(seen.splice(0));
      if (value.path === mark) return textsOf(seen.splice(0).filter((one) => !one.path.includes("mark")));
      seen.push(value);
    }
  };
  /** What is reported of all that was done before. */
  const told = async () => {
    const mark = `d/mark${++marks}`;
    writeFileSync(`${root}/${mark}`, "");
    return await upTo(mark);
  };
  // Nothing says that a watch has begun: files are made until one is reported.
  const timer = setInterval(() => writeFileSync(`${root}/d/mark-begin-${++marks}`, ""), 20);
  const first = await events.next();
  clearInterval(timer);
  expect(first.value?.type).toBe(FileEventType.CREATE);
  await told();
  return { root, told, events, leaving, client };
}

const NAMES = new Map<number, string>(Object.entries(FileEventType).map(([name, type]) => [type, name]));

function textsOf(events: FileEvent[]): string[] {
  return events.map(({ type, path, oldPath, error }) =>
    [NAMES.get(type), path, oldPath && `from ${oldPath}`, error].filter(Boolean).join(" ")
  ).sort();
}

test("what is new, written, moved, given another mode and removed is reported", async () => {
  const { root, told } = await aWatch("d", true, (root) => {
    for (const name of ["old", "moved", "mode", "gone"]) writeFileSync(`${root}/d/${name}`, "x");
    mkdirSync(`${root}/d/sub`);
  });
  const steps: [() => void, string][] = [
    [() => writeFileSync(`${root}/d/new`, ""), "CREATE d/new"],
    [() => writeFileSync(`${root}/d/old`, "longer"), "WRITE d/old"],
    [() => renameSync(`${root}/d/moved`, `${root}/d/sub/moved`), "RENAME d/sub/moved from d/moved"],
    [() => chmodSync(`${root}/d/mode`, 0o600), "CHMOD d/mode"],
    [() => rmSync(`${root}/d/gone`), "REMOVE d/gone"],
    [() => mkdirSync(`${root}/d/deep/er`, { recursive: true }), "CREATE d/deep/er"],
    [() => writeFileSync(`${root}/d/deep/er/file`, ""), "CREATE d/deep/er/file"],
  ];
  for (const [act, text] of steps) {
    act();
    expect(await told()).toContain(text);
  }
});

test("without `recursive` what is further down is not told; a name that is not UTF-8 is an error that names it", async () => {
  const { root, told } = await aWatch(".", true);
  writeFileSync(Buffer.concat([Buffer.from(`${root}/caf`), Buffer.of(0xe9)]), "");
  expect(await told()).toContain('ERROR create of "caf\\udce9", whose name is not UTF-8');
  const flat = await aWatch("d", false, (root) => mkdirSync(`${root}/d/sub`));
  writeFileSync(`${flat.root}/d/sub/in`, "");
  writeFileSync(`${flat.root}/d/new`, "");
  const all = await flat.told();
  expect(all).toContain("CREATE d/new");
  expect(all.join()).not.toContain("sub/in");
});

test("it ends with its folder; a file, nothing, and what leads out are refused", async () => {
  const { root, events, client } = await aWatch("d", false);
  rmSync(`${root}/d`, { recursive: true });
  const rest: FileEvent[] = [];
  for (let next = await events.next(); !next.done; next = await events.next()) rest.push(next.value);
  expect(textsOf(rest)).toContain("REMOVE d");
  writeFileSync(`${root}/file`, "");
  for (
    const [path, code] of [["none", Code.NotFound], ["file", Code.NotFound], ["../..", Code.PermissionDenied]] as const
  ) {
    const refused = client.watchDir({ path })[Symbol.asyncIterator]().next();
    await expect(refused, path).rejects.toMatchObject({ code });
  }
});

async function aRoot() {
  const { root, at } = await makeRoot({
    old: "x",
    moved: "x",
    mode: "x",
    gone: "x",
    "sub/in": "x",
    "sub/deep/in": "x",
  });
  const names = ["old", "moved", "mode", "gone", "sub", "sub/in", "sub/deep", "sub/deep/in"];
  const known: LastStates = new Map(names.map((name) => [name, lstatSync(at(name))]));
  const told = async (kinds: [string, ChangeKind][]) =>
    (await changesOf(root, known, new Map(kinds))).map((one) =>
      [one.type, one.path, one.type === "rename" ? one.oldPath : undefined].filter(Boolean).join(" ")
    );
  return { at, told };
}

test("each path is reported once, a move as a move", async () => {
  const { at, told } = await aRoot();
  writeFileSync(at("new"), "");
  writeFileSync(at("old"), "longer");
  renameSync(at("moved"), at("there"));
  chmodSync(at("mode"), 0o600);
  rmSync(at("gone"));
  // It may have the number that the one before had.
  writeFileSync(at("last"), "");
  const kinds: [string, ChangeKind][] = [
    ["new", "created"],
    ["old", "modified"],
    ["moved", "removed"],
    ["there", "created"],
    ["mode", "modified"],
    ["gone", "removed"],
    ["last", "created"],
    ["fleeting", "removed"],
  ];
  const want = ["rename there moved", "create new", "write old", "chmod mode", "remove gone", "create last"];
  expect(await told(kinds)).toEqual(want);
});

test("a folder is moved with what is in it, and that is known by its new place", async () => {
  const { at, told } = await aRoot();
  renameSync(at("sub"), at("other"));
  const kinds: [string, ChangeKind][] = [["sub", "removed"], ["other", "created"], ["other/in", "created"], [
    "other/deep",
    "created",
  ]];
  expect(await told(kinds)).toEqual(["rename other sub"]);
  writeFileSync(at("other/deep/in"), "longer");
  mkdirSync(at("other/new"));
  expect(await told([["other/deep/in", "modified"], ["other/new", "created"]])).toEqual([
    "write other/deep/in",
    "create other/new",
  ]);
});

test("what is put in the place of another file is written; what changed before it was looked at is reported too", async () => {
  const { at, told } = await aRoot();
  writeFileSync(at("beside"), "whole");
  renameSync(at("beside"), at("old"));
  expect(await told([["old", "created"]])).toEqual(["write old"]);
  expect(await told([["mode", "modified"]])).toEqual(["write mode"]);
});
