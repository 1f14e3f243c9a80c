/** upload() and download() on a real runtime: folders there and back, what is left out, and what breaks off. @module */
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  ConflictError,
  ConnectionError,
  FileNotFoundError,
  InvalidArgumentError,
} from "../../../packages/sdk/errors.ts";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import type { TransferProgress } from "../../../packages/sdk/files/transfer.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { eventually } from "../../eventually.ts";
import { aSandbox, localTransport, OBJECT } from "../localtransport.ts";
import { aProxy } from "../proxy.ts";

/** A folder on this machine, and a sandbox. */
async function both(made: Record<string, string> = {}) {
  const local = makeTempFolder();
  const sandbox = await aSandbox(made);
  return { ...sandbox, here: (path: string) => join(local, path), ...createFiles(sandbox.runtimeClient) };
}

test("a folder goes up and comes back as it was: content, modes, times, links, odd names, empty folders", async () => {
  const { here, upload, download, stat } = await both();
  const long = "n".repeat(150);
  for (const folder of ["d/a b#?%", `d/${long}/${long}`, "d/empty", "d/shut"]) {
    mkdirSync(here(folder), { recursive: true });
  }
  writeFileSync(here("d/a b#?%/-größe 🎉"), "ü");
  writeFileSync(here(`d/${long}/${long}/f`), "x".repeat(70_000));
  writeFileSync(here("d/run"), "", { mode: 0o755 });
  writeFileSync(here("d/shut/f"), "secret", { mode: 0o600 });
  symlinkSync("run", here("d/link"));
  symlinkSync("../run", here("d/empty/up"));
  symlinkSync("nowhere", here("d/dangling"));
  symlinkSync("../outside", here("d/out"));
  symlinkSync("/etc/passwd", here("d/absolute"));
  execFileSync("mkfifo", [here("d/pipe")]);
  chmodSync(here("d/shut"), 0o500);
  utimesSync(here("d/run"), 1000, 1000);
  const sent = await upload(here("d"), "to/here");
  expect({ ...sent, skipped: sent.skipped.map(({ path }) => path).sort() })
    .toEqual({ files: 4, directories: 5, links: 3, bytes: 70_008, skipped: ["absolute", "out", "pipe"] });
  expect(sent.skipped.find(({ path }) => path === "out")?.reason).toBe('it leads out of the folder, to "../outside"');
  expect(await stat("to/here/run")).toMatchObject({ mode: 0o755, modifiedAt: new Date(1_000_000) });
  expect(await download("to/here", here("back"))).toEqual({ ...sent, skipped: [] });
  for (const name of ["out", "absolute", "pipe"]) execFileSync("rm", [here(`d/${name}`)]);
  expect(execFileSync("diff", ["-r", "--no-dereference", here("d"), here("back")], { encoding: "utf8" })).toBe("");
  const { mode, mtimeMs } = statSync(here("back/run"));
  expect([mode & 0o777, mtimeMs, statSync(here("back/shut")).mode & 0o777]).toEqual([0o755, 1_000_000, 0o500]);
});

test("a file goes to the name that is given, or into a path that ends with a slash", async () => {
  const { here, upload, download, list } = await both({ "in/": "" });
  writeFileSync(here("f"), "content", { mode: 0o640 });
  const seen: TransferProgress[] = [];
  expect(await upload(here("f"), "new/g", { onProgress: (one) => seen.push(one) })).toMatchObject({
    files: 1,
    bytes: 7,
  });
  expect(seen.at(-1)).toEqual({ bytes: 7, files: 1, totalBytes: 7 });
  await upload(here("f"), "in/");
  await upload(here("f"), ".");
  await upload(here("f"), "/top");
  const all = (await list("", { depth: 2 })).filter(({ type }) => type === "file");
  expect(all.map(({ path, mode }) => [path, mode])).toEqual(["f", "in/f", "new/g", "top"].map((path) => [path, 0o640]));
  expect(await download("new/g", here("down/h"))).toMatchObject({ files: 1, bytes: 7 });
  await download("new/g", here("down/"));
  expect([readFileSync(here("down/h"), "utf8"), statSync(here("down/g")).mode & 0o777]).toEqual(["content", 0o640]);
});

test("filter leaves out files, and folders with all that is in them, both ways; progress counts what goes", async () => {
  const { here, upload, download, list, read } = await both();
  for (const folder of ["d/node_modules/x", "d/src"]) mkdirSync(here(folder), { recursive: true });
  for (const file of ["d/node_modules/x/f", "d/src/a.ts", "d/src/a.log"]) writeFileSync(here(file), "12345");
  const seen: TransferProgress[] = [];
  const up = (path: string, type: string) => type === "file" || path !== "node_modules";
  await upload(here("d"), "d", { filter: up, onProgress: (one) => seen.push(one) });
  expect(seen.at(-1)).toEqual({ bytes: 10, files: 2, totalBytes: 10 });
  expect((await list("d", { depth: 9 })).map(({ path }) => path)).toEqual(["d/src", "d/src/a.log", "d/src/a.ts"]);
  const down = await download("d", here("e"), {
    filter: (path) => !path.endsWith(".log"),
    onProgress: (one) => seen.push(one),
  });
  expect([down.files, seen.at(-1), readdirSync(here("e/src"))]).toEqual([1, { bytes: 5, files: 1 }, ["a.ts"]]);
  await download("d", here("g"), { filter: (path) => path !== "src" });
  expect([readdirSync(here("g")), await read("d/src/a.ts")]).toEqual([[], "12345"]);
});

test("what cannot be is refused with a reason", async () => {
  const { here, upload, download, at } = await both({ "folder/f": "" });
  mkdirSync(here("taken/folder/f"), { recursive: true });
  writeFileSync(here("file"), "");
  symlinkSync("../secret", at("out"));
  await expect(upload(here("none"), "x")).rejects.toMatchObject({ code: "ENOENT" });
  await expect(upload(here("file"), "folder")).rejects.toThrow(InvalidArgumentError);
  await expect(upload(here("taken/folder"), "folder")).rejects.toThrow(ConflictError);
  await expect(upload(here("file"), "../x")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  await expect(upload("/dev/null", "x")).rejects.toThrow(InvalidArgumentError);
  await expect(download("none", here("x"))).rejects.toThrow(FileNotFoundError);
  await expect(download("out", here("x"))).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  await expect(download("folder", here("taken/folder"))).rejects.toThrow(ConflictError);
  await expect(download("folder/f", here("taken"))).rejects.toThrow(ConflictError);
  await expect(download("folder", here("file"))).rejects.toMatchObject({ code: "EEXIST" });
  expect(readdirSync(here("taken"))).toEqual(["folder"]);
});

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const MB = 1024 * 1024;

test("50 MB go up and down, as a file and in a folder, and arrive", async () => {
  const { here, upload, download, read, write } = await both();
  const bytes = randomBytes(50 * MB);
  mkdirSync(here("d"));
  writeFileSync(here("d/large"), bytes);
  expect((await upload(here("d"), "d")).bytes).toBe(50 * MB);
  expect(hash(await read("d/large", { format: "bytes" }))).toBe(hash(bytes));
  await download("d", here("folder"));
  await download("d/large", here("file"));
  expect([hash(readFileSync(here("folder/large"))), hash(readFileSync(here("file")))]).toEqual([
    hash(bytes),
    hash(bytes),
  ]);
  await write("streamed", await read("d/large", { format: "stream" }));
  expect(hash(await read("streamed", { format: "bytes" }))).toBe(hash(bytes));
});

test("a signal ends a transfer on its way: no half file is left on either side", async () => {
  const { here, upload, download, list } = await both({ "old": "" });
  mkdirSync(here("d"));
  writeFileSync(here("d/large"), randomBytes(20 * MB));
  await upload(here("d"), "all");
  for (
    const transfer of [
      upload.bind(null, here("d"), "to"),
      download.bind(null, "all", here("to")),
      download.bind(null, "all/large", here("to/")),
    ]
  ) {
    const leaving = new AbortController();
    const onProgress = ({ bytes }: TransferProgress) => bytes > 3 * MB && leaving.abort(new Error("enough"));
    await expect(transfer({ signal: leaving.signal, onProgress })).rejects.toThrow("enough");
    await expect(transfer({ signal: leaving.signal })).rejects.toThrow("enough");
  }
  await eventually(() => list("to", { depth: 2 })).toEqual([]);
  expect(existsSync(here("to")) ? readdirSync(here("to")) : []).toEqual([]);
});

test("a connection that breaks fails the download of a folder, not that of a file", async () => {
  const { here, port, at } = await both({ "d/": "" });
  const bytes = randomBytes(5 * MB);
  writeFileSync(at("d/f"), bytes);
  const proxy = await aProxy(port);
  const { download, upload } = createFiles(createRuntimeClient(localTransport(proxy.port), OBJECT, undefined));
  proxy.breakAfter(10_000, 2 * MB, MB);
  await download("d/f", here("f"));
  expect([hash(readFileSync(here("f"))), proxy.connections()]).toEqual([hash(bytes), 4]);
  proxy.breakAfter(MB);
  await expect(download("d", here("d"))).rejects.toThrow(ConnectionError);
  expect(readdirSync(here("d"))).toEqual([]);
  proxy.refuse(true);
  await expect(upload(here("f"), "up")).rejects.toThrow(ConnectionError);
});
