/** packPath() and unpackInto(): there and back, pace, and entries that want out. @module */
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { chmod, lstat, mkdir, readdir, readFile, readlink, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { type Header, pack } from "tar-stream";
import { expect, test } from "vitest";
import { packPath } from "../../../packages/runtime/files/pack.ts";
import { unpackInto, type UnpackOptions } from "../../../packages/runtime/files/unpack.ts";
import { makeRoot, type TestRoot } from "../folders.ts";
import { eventually } from "../../eventually.ts";

async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
}

/** Makes a tar of these entries; `content` for files. */
async function tarOf(...entries: (Partial<Header> & { name: string; content?: string })[]): Promise<Buffer> {
  const tar = pack();
  for (const { content = "", ...header } of entries) tar.entry(header, content);
  tar.finalize();
  return await bytesOf(tar as AsyncIterable<Uint8Array>);
}

async function unpack({ root }: TestRoot, bytes: Uint8Array, options: UnpackOptions = { gzip: false }, path = "to") {
  return await unpackInto(root, path, Readable.from([bytes]), options);
}

test("a folder comes back as it was: content, modes, times, links, long names, empty files", async () => {
  const long = "n".repeat(150);
  const made = await makeRoot({
    "from/a.txt": "hello",
    [`from/${long}/${long}`]: "x",
    "from/empty": "",
    "from/d/": "",
    "from/große Datei": "ü",
  });
  const { root, at } = made;
  await chmod(at("from/a.txt"), 0o750);
  await chmod(at("from/d"), 0o500);
  await utimes(at("from/a.txt"), 1000, 1000);
  await symlink("a.txt", at("from/link"));
  await symlink("nowhere", at("from/dangling"));
  const bytes = await bytesOf(await packPath(root, "from"));
  expect(await unpack(made, bytes)).toEqual({ files: 4, directories: 2, links: 2, bytes: 8 });
  const diff = execFileSync("diff", ["-r", "--no-dereference", at("from"), at("to")], { encoding: "utf8" });
  expect(diff).toBe("");
  const stats = await stat(at("to/a.txt"));
  expect([stats.mode & 0o777, stats.mtimeMs]).toEqual([0o750, 1_000_000]);
  expect((await stat(at("to/d"))).mode & 0o777).toBe(0o500);
  expect(await readlink(at("to/link"))).toBe("a.txt");
});

test("packPath() gives what tar(1) reads, and unpackInto() takes what it writes", async () => {
  const made = await makeRoot({ "from/f": "content", "from/d/g": "deep" });
  const { root, at, around } = made;
  await writeFile(`${around}/down.tar`, await bytesOf(await packPath(root, "from")));
  await mkdir(`${around}/out`);
  execFileSync("tar", ["-xf", `${around}/down.tar`, "-C", `${around}/out`]);
  expect(await readFile(`${around}/out/d/g`, "utf8")).toBe("deep");
  execFileSync("ln", [at("from/f"), at("from/hard")]);
  execFileSync("tar", ["-czf", `${around}/up.tar.gz`, "-C", at("from"), "."]);
  await unpack(made, await readFile(`${around}/up.tar.gz`), { gzip: true });
  expect((await readdir(at("to"))).sort()).toEqual(["d", "f", "hard"]);
  expect((await stat(at("to/f"))).ino).toBe((await stat(at("to/hard"))).ino);
});

test("packPath() of a file holds that file under its name", async () => {
  const made = await makeRoot({ "d/f": "one" });
  await unpack(made, await bytesOf(await packPath(made.root, "d/f")));
  expect(await readFile(made.at("to/f"), "utf8")).toBe("one");
});

test("packPath() leaves out links that lead out, pipes, and files that are being written", async () => {
  const made = await makeRoot({ "from/f": "1", "from/.hookbox-upload-x": "half" });
  await symlink("../../secret", made.at("from/out"));
  await symlink("/etc", made.at("from/etc"));
  execFileSync("mkfifo", [made.at("from/pipe")]);
  await unpack(made, await bytesOf(await packPath(made.root, "from")));
  expect(await readdir(made.at("to"))).toEqual(["f"]);
});

test("packPath() waits for its reader, also where files are empty", async () => {
  const made = await makeRoot({ "from/": "" });
  const names = `seq -f ${"n".repeat(120)}%g 1500`;
  execFileSync("sh", ["-c", `${names} | xargs touch`], { cwd: made.at("from") });
  const chunks = await packPath(made.root, "from");
  const first = await chunks.next();
  await new Promise((resolve) => setTimeout(resolve, 400));
  // What has not been packed by now never will be. A long name takes 2 KiB of headers, and 1 MiB may wait.
  execFileSync("sh", ["-c", `${names} | xargs rm`], { cwd: made.at("from") });
  const rest = await bytesOf(chunks);
  expect((first.value?.length ?? 0) + rest.length).toBeLessThan(1_200_000);
});

test("packPath() ends when its reader leaves", async () => {
  const made = await makeRoot({ "from/f": "x".repeat(3_000_000) });
  const opened = (await readdir("/proc/self/fd")).length;
  const chunks = await packPath(made.root, "from");
  await chunks.next();
  await chunks.return(undefined);
  await eventually(async () => (await readdir("/proc/self/fd")).length).toBeLessThanOrEqual(opened);
});

test.for<[string, Partial<Header> & { name: string }, string]>([
  ["a name that goes up", { name: "../planted" }, "PERMISSION_DENIED"],
  ["a name that goes up inside", { name: "a/../../../planted" }, "PERMISSION_DENIED"],
  ["an absolute name", { name: "/tmp/planted" }, "PERMISSION_DENIED"],
  ["a folder that goes up", { name: "../planted/", type: "directory" }, "PERMISSION_DENIED"],
  ["a link that leads out", { name: "l", type: "symlink", linkname: "../../secret" }, "PERMISSION_DENIED"],
  ["an absolute link", { name: "l", type: "symlink", linkname: "/etc/passwd" }, "PERMISSION_DENIED"],
  ["a hard link to what is outside", { name: "l", type: "link", linkname: "../../secret" }, "PERMISSION_DENIED"],
  ["a hard link through a link", { name: "l", type: "link", linkname: "up/secret" }, "PERMISSION_DENIED"],
  ["a file through a link", { name: "up/planted" }, "PERMISSION_DENIED"],
  ["a folder through a link", { name: "up/planted/", type: "directory" }, "PERMISSION_DENIED"],
  ["a pipe", { name: "p", type: "fifo" }, "INVALID_ARGUMENT"],
  ["a device", { name: "p", type: "character-device" }, "INVALID_ARGUMENT"],
])("unpackInto() refuses %s and keeps what came before", async ([, entry, code]) => {
  const made = await makeRoot({ "to/": "" });
  await symlink("../..", made.at("to/up"));
  const bytes = await tarOf({ name: "before", content: "1" }, entry, { name: "after" });
  await expect(unpack(made, bytes)).rejects.toMatchObject({ code });
  expect((await readdir(made.at("to"))).sort()).toEqual(["before", "up"]);
  expect((await readdir(made.around)).sort()).toEqual(["root", "secret"]);
  expect(await readFile(`${made.around}/secret`, "utf8")).toBe("SECRET");
});

test("unpackInto() replaces a link at a file's place instead of writing through it", async () => {
  const made = await makeRoot({ "to/": "", "kept": "kept" });
  await symlink("../kept", made.at("to/f"));
  await symlink("../../secret", made.at("to/g"));
  await unpack(made, await tarOf({ name: "f", content: "new" }, { name: "g", content: "new" }));
  expect((await lstat(made.at("to/f"))).isFile()).toBe(true);
  expect(await readFile(made.at("kept"), "utf8")).toBe("kept");
  expect(await readFile(`${made.around}/secret`, "utf8")).toBe("SECRET");
});

test("unpackInto() counts what comes out of the compression", async () => {
  const made = await makeRoot();
  const bomb = gzipSync(await tarOf({ name: "zeros", content: "\0".repeat(1_000_000) }));
  expect(bomb.length).toBeLessThan(5000);
  await expect(unpack(made, bomb, { gzip: true, maxBytes: 100_000 })).rejects.toMatchObject({
    code: "RESOURCE_EXHAUSTED",
  });
  expect(await readdir(made.at("to"))).toEqual([]);
});

test("unpackInto() says so when the body is no tar, or half of one", async () => {
  const made = await makeRoot();
  const whole = await tarOf({ name: "f", content: "x".repeat(5000) });
  for (
    const [bytes, gzip] of [[Buffer.alloc(2048, 65), false], [whole.subarray(0, 3000), false], [whole, true]] as const
  ) {
    await expect(unpack(made, bytes, { gzip })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
  expect(await readdir(made.at("to"))).toEqual([]);
});
