/** createFS() on a real runtime, each case held against node:fs/promises on a folder of this machine. @module */
import * as node from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FileNotFoundError, SandboxError } from "../../../packages/sdk/errors.ts";
import { createFiles, type Files } from "../../../packages/sdk/files/files.ts";
import { createFS, type FSWatchEvent, type SandboxFS } from "../../../packages/sdk/files/fs.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { aSandbox, OBJECT } from "../localtransport.ts";
import "../../eventually.ts";

/** As much as both have. */
type Both = Pick<
  SandboxFS,
  | "readFile"
  | "writeFile"
  | "readdir"
  | "stat"
  | "lstat"
  | "access"
  | "mkdir"
  | "rm"
  | "rmdir"
  | "unlink"
  | "rename"
  | "copyFile"
>;

/** The same files in a sandbox, and on this machine through Node. */
async function twins() {
  const folder = makeTempFolder();
  const { runtimeClient, at } = await aSandbox();
  for (const place of [folder, at("")]) {
    await node.mkdir(join(place, "d/sub/deep"), { recursive: true });
    await node.mkdir(join(place, "empty"));
    await node.writeFile(join(place, "f"), "größe", { mode: 0o640 });
    await node.writeFile(join(place, "d/g"), "g");
    await node.symlink("f", join(place, "link"));
    await node.symlink("d", join(place, "tod"));
    await node.symlink("nowhere", join(place, "dangling"));
    await node.symlink("circle", join(place, "circle"));
  }
  const fs = createFS(createFiles(runtimeClient), OBJECT);
  const local = Object.fromEntries(
    Object.entries(node).map(([name, call]) => [
      name,
      (path: string, ...more: unknown[]) => {
        const isPair = name === "rename" || name === "copyFile";
        const rest = isPair ? [join(folder, more[0] as string), ...more.slice(1)] : more;
        return (call as (...args: unknown[]) => unknown)(join(folder, path), ...rest);
      },
    ]),
  ) as unknown as Both;
  return { fs, local, at };
}

/** What came of it, in words: a value, or the code of an error. */
async function outcome(work: Promise<unknown>): Promise<unknown> {
  try {
    return (await work) ?? "done";
  } catch (error) {
    return { code: (error as { code: string }).code };
  }
}

const names = (found: { name: string; isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }[]) =>
  found.map((one) => [one.name, one.isFile(), one.isDirectory(), one.isSymbolicLink()]).sort();

test.for<[string, (fs: Both) => Promise<unknown>]>([
  ["readFile utf8", (fs) => fs.readFile("f", "utf8")],
  ["readFile {encoding}", (fs) => fs.readFile("link", { encoding: "utf8" })],
  ["readFile base64", (fs) => fs.readFile("f", "base64")],
  ["readFile bytes", async (fs) => [...await fs.readFile("f")]],
  ["readFile of nothing", (fs) => fs.readFile("none")],
  ["readFile of a folder", (fs) => fs.readFile("d")],
  ["readFile of a circle", (fs) => fs.readFile("circle")],
  ["readFile of a dangling link", (fs) => fs.readFile("dangling")],
  ["readdir", async (fs) => (await fs.readdir("d")).sort()],
  ["readdir recursive", async (fs) => (await fs.readdir("d", { recursive: true })).sort()],
  ["readdir withFileTypes", async (fs) => names(await fs.readdir("", { withFileTypes: true }))],
  ["readdir of a file", (fs) => fs.readdir("f")],
  ["readdir of nothing", (fs) => fs.readdir("none")],
  [
    "stat follows",
    async (fs) => [(await fs.stat("link")).size, (await fs.stat("link")).mode, (await fs.stat("tod")).isDirectory()],
  ],
  ["stat of a dangling link", (fs) => fs.stat("dangling")],
  ["stat of a circle", (fs) => fs.stat("circle")],
  ["lstat does not follow", async (fs) => (await fs.lstat("link")).isSymbolicLink()],
  ["access", (fs) => fs.access("f")],
  ["access of nothing", (fs) => fs.access("none/f")],
  ["mkdir", async (fs) => [await fs.mkdir("new") ?? "undefined", (await fs.stat("new")).isDirectory()]],
  ["mkdir of what is there", (fs) => fs.mkdir("d")],
  ["mkdir of a file", (fs) => fs.mkdir("f")],
  ["mkdir without the folder above", (fs) => fs.mkdir("a/b")],
  ["mkdir recursive of what is there", (fs) => fs.mkdir("d/sub", { recursive: true })],
  ["mkdir recursive of a file", (fs) => fs.mkdir("f", { recursive: true })],
  ["mkdir recursive below a file", (fs) => fs.mkdir("f/x", { recursive: true })],
  ["rm", async (fs) => [await fs.rm("f"), await outcome(fs.access("f"))]],
  ["rm of a link", async (fs) => [await fs.rm("tod"), await fs.readFile("d/g", "utf8")]],
  ["rm of nothing", (fs) => fs.rm("none")],
  ["rm force of nothing", (fs) => fs.rm("none", { force: true })],
  ["rm recursive", async (fs) => [await fs.rm("d", { recursive: true }), await outcome(fs.access("d"))]],
  ["rm recursive of nothing", (fs) => fs.rm("none", { recursive: true })],
  ["rmdir", async (fs) => [await fs.rmdir("empty"), await outcome(fs.access("empty"))]],
  ["rmdir of a full folder", (fs) => fs.rmdir("d")],
  ["rmdir of a file", (fs) => fs.rmdir("f")],
  ["unlink", async (fs) => [await fs.unlink("link"), await fs.readFile("f", "utf8")]],
  ["rename replaces", async (fs) => [await fs.rename("f", "d/g"), await fs.readFile("d/g", "utf8")]],
  ["rename of nothing", (fs) => fs.rename("none", "x")],
  ["rename onto a full folder", (fs) => fs.rename("empty", "d")],
  ["rename into itself", (fs) => fs.rename("d", "d/sub/x")],
  ["copyFile", async (fs) => [await fs.copyFile("f", "h"), (await fs.stat("h")).mode, await fs.readFile("h", "utf8")]],
  ["copyFile of nothing", (fs) => fs.copyFile("none", "h")],
  ["writeFile", async (fs) => [await fs.writeFile("w", "ü", { mode: 0o600 }), (await fs.stat("w")).mode]],
  ["writeFile of a folder", (fs) => fs.writeFile("d", "")],
  ["writeFile below a file", (fs) => fs.writeFile("f/x", "")],
  ["a name that is too long", (fs) => fs.readFile("n".repeat(300))],
])("%s does what it does with Node", async ([name, work]) => {
  const { fs, local } = await twins();
  const wanted = await outcome(work(local));
  expect([name, await outcome(work(fs))]).toEqual([name, wanted]);
});

test("what differs from Node: folders above are made, rm of a folder, other flags", async () => {
  const { fs } = await twins();
  await fs.writeFile("a/b/c", "1");
  expect(await fs.readFile("a/b/c", "utf-8")).toBe("1");
  expect(await fs.mkdir("x/y", { recursive: true })).toBe("x/y");
  // Here Node says what the system does.
  await expect(fs.unlink("empty")).rejects.toMatchObject({ code: "EISDIR" });
  await expect(fs.rm("empty")).rejects.toMatchObject({ code: "EISDIR" });
  await expect(fs.writeFile("f", "", { flag: "a" as "w" })).rejects.toMatchObject({ code: "ENOTSUP" });
  await expect(fs.writeFile("f", "", "hex" as "utf8")).rejects.toMatchObject({ code: "EINVAL" });
  const [one, two] = [await fs.mkdtemp("tmp-"), await fs.mkdtemp("tmp-")];
  expect([one, (await fs.stat(two)).mode & 0o777]).toEqual([expect.stringMatching(/^tmp-\w{6}$/), 0o700]);
});

test("errors are ours, with Node's code and what fs says", async () => {
  const { fs, at } = await twins();
  const error = await fs.readFile("none/x").catch((error) => error);
  expect(error).toBeInstanceOf(FileNotFoundError);
  expect(error).toMatchObject({
    code: "ENOENT",
    errorCode: "NOT_FOUND",
    syscall: "open",
    path: "none/x",
    object: OBJECT,
  });
  expect(error.message).toBe('Cannot read "none/x": nothing is there');
  await node.symlink("../secret", at("out"));
  for (const path of ["out", "../secret"]) {
    const denied = await fs.stat(path).catch((error) => error);
    expect(denied).toBeInstanceOf(SandboxError);
    expect(denied).toMatchObject({ code: "EACCES", errorCode: "PERMISSION_DENIED" });
  }
  await expect(fs.readFile("f", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
});

test("every function acts as the user that it is given, in each of its calls", async () => {
  const { runtimeClient } = await aSandbox({ "f": "", "d/g": "" });
  const users: Record<string, unknown[]> = {};
  let calling = "";
  const spied = Object.fromEntries(
    Object.entries(createFiles(runtimeClient)).map(([name, call]) => [name, (...args: unknown[]) => {
      const { user, ...options } = args.pop() as { user?: string };
      (users[calling] ??= []).push(user);
      return (call as (...args: unknown[]) => unknown)(...args, options);
    }]),
  ) as unknown as Files;
  const fs = createFS(spied, OBJECT);
  const as = { user: "root" };
  const calls: { [name in keyof SandboxFS]: () => Promise<unknown> } = {
    readFile: () => fs.readFile("f", as),
    writeFile: () => fs.writeFile("f", "", as),
    readdir: () => fs.readdir("d", as),
    stat: () => fs.stat("f", as),
    lstat: () => fs.lstat("f", as),
    access: () => fs.access("f", 0, as),
    mkdir: () => fs.mkdir("d/new", as),
    mkdtemp: () => fs.mkdtemp("t-", as),
    copyFile: () => fs.copyFile("f", "h", as),
    rename: () => fs.rename("h", "i", as),
    unlink: () => fs.unlink("i", as),
    rmdir: () => fs.rmdir("d/new", as),
    rm: () => fs.rm("f", as),
    watch: () => fs.watch("none", as).next().catch(() => {}),
  };
  for (const [name, call] of Object.entries(calls)) {
    calling = name;
    await call();
  }
  for (const name of Object.keys(fs)) expect([name, new Set(users[name])]).toEqual([name, new Set(["root"])]);
});

test("watch() tells names from the folder on", async () => {
  const { fs, at } = await twins();
  const leaving = new AbortController();
  const seen: FSWatchEvent[] = [];
  const watching = (async () => {
    for await (const event of fs.watch("d", { recursive: true, signal: leaving.signal })) {
      seen.push(event);
      if (event.filename === "sub/new") break;
    }
  })();
  const timer = setInterval(() => void node.writeFile(at("d/sub/new"), "").catch(() => {}), 50);
  await watching.finally(() => clearInterval(timer));
  expect(seen.at(-1)).toMatchObject({ eventType: expect.stringMatching(/^(rename|change)$/), filename: "sub/new" });
  await expect(fs.watch("none").next()).rejects.toMatchObject({ code: "ENOENT", syscall: "watch" });
});
