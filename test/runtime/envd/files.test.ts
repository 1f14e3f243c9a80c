/** Files by E2B's published client, against the runtime. @module */
import { Buffer } from "node:buffer";
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FileNotFoundError, InvalidArgumentError } from "e2b";
import { expect, test } from "vitest";
import { startSandbox } from "./sandbox.ts";

test("write() and read() use paths that are relative to the home directory", async () => {
  const { sandbox, home } = await startSandbox();
  const written = await sandbox.files.write("new/folder/ä b.txt", "hällo");
  expect(written).toEqual({ name: "ä b.txt", path: join(home, "new/folder/ä b.txt"), type: "file" });
  expect(readFileSync(join(home, "new/folder/ä b.txt"), "utf8")).toBe("hällo");
  expect(await sandbox.files.read("~/new/folder/ä b.txt")).toBe("hällo");
  expect(await sandbox.files.read(join(home, "new/folder/ä b.txt"), { format: "bytes" }))
    .toEqual(new TextEncoder().encode("hällo"));
  expect(await (await sandbox.files.read("new/folder/ä b.txt", { format: "blob" })).text()).toBe("hällo");
  const stream = await sandbox.files.read("new/folder/ä b.txt", { format: "stream" });
  expect(await new Response(stream).text()).toBe("hällo");
  await sandbox.files.write("new/folder/ä b.txt", "");
  expect(await sandbox.files.read("new/folder/ä b.txt")).toBe("");
  await expect(sandbox.files.read("none")).rejects.toThrow(FileNotFoundError);
  await expect(sandbox.files.read("new")).rejects.toThrow(InvalidArgumentError);
  await expect(sandbox.files.write("new", "x")).rejects.toThrow(InvalidArgumentError);
  await expect(sandbox.files.read("~other/x")).rejects.toThrow(InvalidArgumentError);
  await expect(sandbox.files.read("x", { user: "no-such-user" })).rejects.toThrow("invalid username");
  await expect(sandbox.files.list("/", { user: "no-such-user" })).rejects.toThrow("invalid username");
});

test("write() takes several files, streams and compressed bodies", async () => {
  const { sandbox, home } = await startSandbox();
  const bytes = new Uint8Array(300_000).map((_, index) => index % 251);
  expect(await sandbox.files.write([{ path: "a/1", data: "one" }, { path: "/" + join(home, "2"), data: bytes.buffer }]))
    .toMatchObject([{ name: "1", path: join(home, "a/1") }, { name: "2", path: join(home, "2") }]);
  expect(await sandbox.files.read("2", { format: "bytes" })).toEqual(bytes);
  await expect(sandbox.files.writeFiles([{ path: "x", data: "1" }, { path: "./x", data: "2" }]))
    .rejects.toThrow(InvalidArgumentError);
  const stream = new Blob([bytes]).stream();
  expect(await sandbox.files.write("b/streamed", stream)).toMatchObject({ path: join(home, "b/streamed") });
  expect(readFileSync(join(home, "b/streamed"))).toEqual(Buffer.from(bytes));
  await sandbox.files.write("b/gzip", "text ".repeat(1000), { gzip: true });
  expect(readFileSync(join(home, "b/gzip"), "utf8")).toBe("text ".repeat(1000));
  expect(await sandbox.files.read("b/gzip", { gzip: true })).toBe("text ".repeat(1000));
});

test("getInfo() and list() describe files, folders and symlinks", async () => {
  const { sandbox, home } = await startSandbox();
  mkdirSync(join(home, "dir/b"), { recursive: true });
  writeFileSync(join(home, "dir/b/c.txt"), "123", { mode: 0o640 });
  writeFileSync(join(home, "dir/a"), "1");
  symlinkSync("b/c.txt", join(home, "dir/link"));
  symlinkSync("nowhere", join(home, "dir/dangling"));
  symlinkSync("dir", join(home, "alias"));
  const file = await sandbox.files.getInfo("dir/b/c.txt");
  expect(file).toMatchObject({
    name: "c.txt",
    type: "file",
    path: join(home, "dir/b/c.txt"),
    size: 3,
    mode: 0o640,
    permissions: "-rw-r-----",
  });
  expect(file.modifiedTime?.getTime()).toBe(Math.floor(statSync(join(home, "dir/b/c.txt")).mtimeMs));
  expect(await sandbox.files.getInfo("dir/link")).toMatchObject({
    type: "file",
    mode: 0o640,
    permissions: "Lrwxrwxrwx",
    path: join(home, "dir/link"),
    symlinkTarget: join(home, "dir/b/c.txt"),
  });
  expect(await sandbox.files.getInfo("dir/dangling")).toMatchObject({
    type: undefined,
    symlinkTarget: join(home, "dir/nowhere"),
  });
  expect(await sandbox.files.getInfo("/")).toMatchObject({ name: "/", type: "dir", path: "/" });
  const paths = async (path: string, depth?: number) =>
    (await sandbox.files.list(path, depth === undefined ? {} : { depth })).map((entry) =>
      entry.path.slice(home.length)
    );
  // The published client leaves out a symlink that leads nowhere.
  expect(await paths("dir")).toEqual(["/dir/a", "/dir/b", "/dir/link"]);
  expect(await paths("~/dir/", 2)).toEqual(["/dir/a", "/dir/b", "/dir/b/c.txt", "/dir/link"]);
  expect(await paths("alias", 2)).toEqual(["/alias/a", "/alias/b", "/alias/b/c.txt", "/alias/link"]);
  expect(await paths("", 1)).toEqual(["/alias", "/dir"]);
  await expect(sandbox.files.list("none")).rejects.toThrow(FileNotFoundError);
  await expect(sandbox.files.list("dir/a")).rejects.toThrow(InvalidArgumentError);
});

test("makeDir(), rename(), remove() and exists() change folders and files", async () => {
  const { sandbox, home } = await startSandbox();
  const { files } = sandbox;
  expect([await files.makeDir("a/b"), await files.makeDir("a/b")]).toEqual([true, false]);
  await files.write("a/file", "1");
  await expect(files.makeDir("a/file")).rejects.toThrow(InvalidArgumentError);
  await expect(files.makeDir("a/file/x")).rejects.toThrow(InvalidArgumentError);
  expect(await files.rename("a/file", "c/d/moved")).toMatchObject({ name: "moved", path: join(home, "c/d/moved") });
  await files.write("a/new", "2");
  await files.rename("a/new", "c/d/moved");
  expect(await files.read("c/d/moved")).toBe("2");
  await expect(files.rename("none", "x")).rejects.toThrow(FileNotFoundError);
  expect([await files.exists("c/d/moved"), await files.exists("c/none")]).toEqual([true, false]);
  await files.remove("c");
  await files.remove("c");
  expect(await files.exists("c")).toBe(false);
});

test("an upload notes metadata about a file, and the next one replaces all of them", async () => {
  const { sandbox } = await startSandbox();
  const metadata = { Author: "me", "x-2": "a b" };
  const noted = { author: "me", "x-2": "a b" };
  expect(await sandbox.files.write("dir/a", "1", { metadata })).toMatchObject({ metadata: noted });
  expect(await sandbox.files.getInfo("dir/a")).toMatchObject({ metadata: noted });
  expect(await sandbox.files.rename("dir/a", "dir/b")).toMatchObject({ metadata: noted });
  expect(await sandbox.files.list("dir")).toMatchObject([{ name: "b", metadata: noted }]);
  const stream = new Blob(["2"]).stream();
  expect(await sandbox.files.write("dir/b", stream, { metadata: { other: "" } })).toMatchObject({
    metadata: { other: "" },
  });
  await sandbox.files.write("dir/b", "3");
  expect((await sandbox.files.getInfo("dir/b")).metadata).toBeUndefined();
  await expect(sandbox.files.write("dir/c", "1", { metadata: { ["k".repeat(247)]: "1" } }))
    .rejects.toThrow(InvalidArgumentError);
  await expect(sandbox.files.write("dir/c", "1", { metadata: { k: "v".repeat(5000) } })).rejects.toThrow("4096");
});
