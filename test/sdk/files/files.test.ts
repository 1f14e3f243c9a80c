/** createFiles() on a real runtime: reading, writing, listing, moving, removing, and what they fail of. @module */
import { readFile, stat, symlink } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  AuthorizationError,
  ConflictError,
  FileNotFoundError,
  InvalidArgumentError,
  NotEnoughSpaceError,
} from "../../../packages/sdk/errors.ts";
import { createCommands } from "../../../packages/sdk/commands/commands.ts";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { createFS } from "../../../packages/sdk/files/fs.ts";
import { listFolder } from "../../../packages/sdk/files/manage.ts";
import type { RuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import { aSandbox, OBJECT } from "../localtransport.ts";
import "../../eventually.ts";

async function files(made: Record<string, string> = {}, ...args: string[]) {
  const sandbox = await aSandbox(made, ...args);
  return { ...sandbox, files: createFiles(sandbox.runtimeClient) };
}

const ODD = [
  "a b#?%.txt",
  "-rf",
  "ünï/日本 🎉",
  "%2e%2e",
  "..a",
  "a\\b",
  "q\"uo'te",
  "line\nbreak",
  "con:trol\u0001",
  "dots...",
  " ",
];

test.for(ODD)("write(), read(), stat(), list(), rename(), remove() take the name %j", async (name) => {
  const { files: { write, read, stat, list, rename, remove, exists }, at } = await files();
  await write(`d/${name}`, "content");
  expect(await readFile(at(`d/${name}`), "utf8")).toBe("content");
  expect(await read(`d/${name}`)).toBe("content");
  expect(await stat(`d/${name}`)).toMatchObject({ path: `d/${name}`, size: 7 });
  expect((await list("d", { depth: 2 })).at(-1)).toMatchObject({ path: `d/${name}`, type: "file" });
  await rename(`d/${name}`, name);
  expect([await exists(name), await exists(`d/${name}`)]).toEqual([true, false]);
  await remove(name);
  expect(await exists(name)).toBe(false);
});

test("read() gives text, bytes, a blob or a stream, and parts of them", async () => {
  const { files: { read }, at } = await files({ "f": "grün 0123", "empty": "" });
  expect(await read("f")).toBe("grün 0123");
  expect(await read("/f", { format: "text", offset: 6 })).toBe("0123");
  expect(await read(at("f"), { format: "text", offset: 6 })).toBe("0123");
  expect(await read("f", { format: "bytes", offset: 2, length: 2 })).toEqual(new Uint8Array([0xc3, 0xbc]));
  expect(await (await read("f", { format: "blob", length: 4 })).text()).toBe("grü");
  expect(await new Response(await read("f", { format: "stream" })).text()).toBe("grün 0123");
  expect([await read("f", { offset: 99 }), await read("f", { length: 0 }), await read("f", { offset: 10, length: 99 })])
    .toEqual(["", "", ""]);
  expect([await read("empty"), await read("empty", { offset: 1 }), await read("empty", { length: 5 })])
    .toEqual(["", "", ""]);
  await expect(read("f", { offset: -1 })).rejects.toThrow(InvalidArgumentError);
  await expect(read("f", { length: 1.5 })).rejects.toThrow(InvalidArgumentError);
});

test("a byte order mark is a part of the text: what is read and written back is the same file", async () => {
  const content = "\ufeffa;b\r\n";
  const { files: all, runtimeClient } = await files({ "f.csv": content });
  expect(await all.read("f.csv")).toBe(content);
  expect(await createFS(all, OBJECT).readFile("f.csv", "utf8")).toBe(content);
  await all.write("g.csv", await all.read("f.csv"));
  expect(await all.read("g.csv", { format: "bytes" })).toEqual(await all.read("f.csv", { format: "bytes" }));
  const { stdout, stderr } = await createCommands(runtimeClient).run("cat f.csv; cat f.csv >&2");
  expect([stdout, stderr]).toEqual([content, content]);
});

test("write() takes text, bytes, buffers, blobs and streams, and keeps or sets modes", async () => {
  const { files: { write, read }, at } = await files({ "old": "" });
  const bytes = new TextEncoder().encode("-bytes-");
  const form = new Blob(["form"], { type: "multipart/form-data; boundary=x" });
  const data = ["text", bytes.subarray(1, 6), bytes.buffer, form, new Blob(["stream"]).stream(), ""];
  const got: string[] = [];
  for (const [index, one] of data.entries()) {
    await write(`deep/er/${index}`, one);
    got.push(await read(`deep/er/${index}`));
  }
  expect(got).toEqual(["text", "bytes", "-bytes-", "form", "stream", ""]);
  const modeOf = async (path: string) => (await stat(at(path))).mode & 0o777;
  await write("old", "new", { mode: 0o750 });
  await write("old", "newer");
  expect([await modeOf("old"), await modeOf("deep/er/0")]).toEqual([0o750, 0o644]);
  await expect(write("old", "x", { mode: 0o1777 })).rejects.toThrow(InvalidArgumentError);
});

test("write() of several files writes them all; after a failure it begins no more", async () => {
  const { files: { write, list } } = await files({ "folder/": "" });
  await write(Array.from({ length: 20 }, (_, index) => ({ path: `many/${index}`, data: `${index}`, mode: 0o600 })));
  const many = await list("many");
  expect([many.length, new Set(many.map(({ mode }) => mode))]).toEqual([20, new Set([0o600])]);
  const after = Array.from({ length: 200 }, (_, index) => ({ path: `after/${index}`, data: "" }));
  await expect(write([{ path: "folder", data: "" }, ...after])).rejects.toThrow(
    'Cannot write "folder": it is a folder',
  );
  expect((await list("after")).length).toBeLessThan(200);
});

test("list() shows links themselves, and with a depth what is further down, each behind its folder", async () => {
  const { files: { list }, at, runtimeClient } = await files({ "b/c/d/e": "", "b-": "12", "b/a": "" });
  await symlink("b/c", at("link"));
  await symlink("../secret", at("out"));
  const [folder, file, link, out] = await list("");
  expect(folder).toMatchObject({ name: "b", path: "b", type: "directory", modifiedAt: expect.any(Date) });
  expect(file).toMatchObject({ name: "b-", type: "file", size: 2, mode: 0o644 });
  expect(link).toMatchObject({ type: "symlink", target: "b/c" });
  expect([out?.type, out && "target" in out]).toEqual(["symlink", false]);
  const paths = async (...args: Parameters<typeof list>) => (await list(...args)).map(({ path }) => path);
  expect(await paths(".", { depth: 2 })).toEqual(["b", "b/a", "b/c", "b-", "link", "out"]);
  expect(await paths("b/", { depth: Infinity })).toEqual(["b/a", "b/c", "b/c/d", "b/c/d/e"]);
  expect(await paths(".", { depth: Infinity, limit: 5 })).toEqual(["b", "b/a", "b-", "link", "out"]);
  expect(await paths("b", { limit: 1 })).toEqual(["b/a"]);
  let requests = 0;
  const counting: RuntimeClient = {
    ...runtimeClient,
    request: (...args) => (requests++, runtimeClient.request(...args)),
  };
  await listFolder(counting, ".", { depth: Infinity, limit: 4 });
  expect(requests, "no subfolder is read").toBe(1);
  await expect(list("b", { limit: -1 })).rejects.toThrow(InvalidArgumentError);
  await expect(list("b", { depth: 0 })).rejects.toThrow(InvalidArgumentError);
  await expect(list("b-")).rejects.toThrow('Cannot list "b-": it is not a folder');
});

test("makeDir() says whether the folder is new; rename() replaces if asked; remove() of a folder if asked", async () => {
  const { files: { makeDir, rename, remove, exists, stat } } = await files({ "x": "x", "y": "yy" });
  expect([await makeDir("a/b", { mode: 0o700 }), await makeDir("a/b")]).toEqual([true, false]);
  expect((await stat("a/b")).mode).toBe(0o700);
  await expect(makeDir("x")).rejects.toThrow(ConflictError);
  await expect(rename("x", "y")).rejects.toThrow('Cannot rename "x" to "y": something is there already');
  await rename("x", "y", { replace: true });
  expect([await exists("x"), (await stat("y")).size]).toEqual([false, 1]);
  await expect(remove("a")).rejects.toThrow(ConflictError);
  await remove("a", { recursive: true });
  expect(await exists("a")).toBe(false);
});

test("errors name the path and the sandbox", async () => {
  const { files: { read, write, list, stat, remove, rename, exists }, at } = await files(
    { "d/f": "" },
    "--max-upload",
    "10",
  );
  await symlink("../..", at("d/up"));
  const missing = [
    () => read('no: "ne'),
    () => list("none"),
    () => stat("none"),
    () => remove("none"),
    () => rename("none", "x"),
    () => read("d/f/g"),
  ];
  for (const call of missing) {
    const error = await call().catch((error: unknown) => error);
    expect(error).toBeInstanceOf(FileNotFoundError);
    expect(error).toMatchObject({ code: "NOT_FOUND", object: OBJECT });
  }
  await expect(read('no: "ne')).rejects.toThrow(/^Cannot read "no: \\"ne": /);
  await expect(read("none")).rejects.toThrow(/^Cannot read "none": nothing is there$/);
  await expect(read("d")).rejects.toThrow('Cannot read "d": it is a folder');
  await expect(read("d", { length: 1 })).rejects.toThrow(InvalidArgumentError);
  for (const path of ["..", "../secret", "d/up/secret", "d/../../secret", "%2e%2e/../../x"]) {
    await expect(read(path)).rejects.toThrow(AuthorizationError);
  }
  await expect(write("big", "x".repeat(11))).rejects.toThrow(NotEnoughSpaceError);
  await expect(read("\ud800")).rejects.toThrow(InvalidArgumentError);
  await expect(read("a\0b")).rejects.toThrow(InvalidArgumentError);
  expect(await exists("d/f/g")).toBe(false);
});

test("disk() says how full it is", async () => {
  const { totalBytes, usedBytes, availableBytes } = await (await files()).files.disk();
  expect(totalBytes).toBeGreaterThanOrEqual(usedBytes + availableBytes);
  expect(availableBytes).toBeGreaterThan(0);
});

test("a signal that is aborted before ends a call with its reason", async () => {
  const { files: { read, write, list } } = await files({ "f": "" });
  const signal = AbortSignal.abort(new Error("enough"));
  for (const call of [() => read("f", { signal }), () => write("f", "x", { signal }), () => list("", { signal })]) {
    await expect(call()).rejects.toThrow("enough");
  }
});
