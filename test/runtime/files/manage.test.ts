/** Listing, opening, removing and moving, where the REST API does not show it. @module */
import { execFileSync } from "node:child_process";
import { chmod, readdir, readlink, symlink, utimes } from "node:fs/promises";
import { expect, test } from "vitest";
import { MissingError, OutsideError } from "../../../packages/runtime/confine.ts";
import { readDisk, removePath, renamePath } from "../../../packages/runtime/files/manage.ts";
import { listFolder } from "../../../packages/runtime/files/list.ts";
import { openForRead } from "../../../packages/runtime/files/read.ts";
import { makeRoot } from "../folders.ts";

test("listFolder() sorts by name, follows links within the root and leaves out those that lead out", async () => {
  const { root, at } = await makeRoot({ "b": "12345", "a/": "", "a/x": "" });
  await symlink("b", at("tob"));
  await symlink("a", at("toa"));
  await symlink("nothing", at("dangling"));
  await symlink("me", at("me"));
  await symlink("../secret", at("out"));
  await symlink("../nothing", at("danglingout"));
  execFileSync("mkfifo", [at("pipe")]);
  await chmod(at("b"), 0o640);
  await utimes(at("b"), 1.5, 1.5);
  const entries = await listFolder(root, ".");
  expect(entries.map(({ name, type }) => `${name} ${type}`)).toEqual([
    "a directory",
    "b file",
    "dangling symlink",
    "me symlink",
    "pipe other",
    "toa directory",
    "tob file",
  ]);
  const b = { size: 5, type: "file", modified_at: "1970-01-01T00:00:01.500Z", mode: "0640" };
  expect(entries[1]).toEqual({ name: "b", ...b });
  expect(entries[6]).toEqual({ name: "tob", ...b });
  expect((await listFolder(root, "toa")).map(({ name }) => name)).toEqual(["x"]);
  await expect(listFolder(root, "b")).rejects.toThrow(MissingError);
  const links = (await listFolder(root, ".", true)).filter(({ type }) => type === "symlink");
  expect(links.map(({ name, target }) => `${name} ${target}`)).toEqual([
    "dangling nothing",
    "danglingout undefined",
    "me me",
    "out undefined",
    "toa a",
    "tob b",
  ]);
});

test("openForRead() opens files, names folders, refuses pipes without waiting for them", async () => {
  const { root, at } = await makeRoot({ "f": "1", "d/": "" });
  execFileSync("mkfifo", [at("pipe")]);
  const { handle } = await openForRead(root, "f");
  expect(await handle?.readFile("utf8")).toBe("1");
  await handle?.close();
  expect((await openForRead(root, "d")).handle).toBeUndefined();
  await expect(openForRead(root, "pipe")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
});

test("removePath() removes a file, an empty folder, a link itself", async () => {
  const { root, at, around } = await makeRoot({ "f": "", "d/": "", "kept/x": "" });
  await symlink("kept", at("link"));
  await symlink("../secret", at("out"));
  for (const path of ["f", "d", "link", "out"]) await removePath(root, path, false);
  expect(await readdir(root.path)).toEqual(["kept"]);
  expect(await readdir(at("kept"))).toEqual(["x"]);
  expect(await readdir(around)).toContain("secret");
});

test("removePath() removes a full folder only if asked, and enters no link", async () => {
  const { root, at, around } = await makeRoot({ "d/deep/er/f": "", "d/g": "", "kept/x": "" });
  await symlink("../../kept", at("d/deep/link"));
  await symlink("../..", at("d/up"));
  await expect(removePath(root, "d", false)).rejects.toMatchObject({ code: "ENOTEMPTY" });
  await removePath(root, "d", true);
  expect(await readdir(root.path)).toEqual(["kept"]);
  expect(await readdir(at("kept"))).toEqual(["x"]);
  expect((await readdir(around)).sort()).toEqual(["root", "secret"]);
});

test("renamePath() moves, makes folders on the way and replaces only if asked", async () => {
  const { root, at } = await makeRoot({ "a": "A", "b": "B", "d/x": "" });
  await renamePath(root, "a", "new/place", false);
  expect(await readdir(at("new"))).toEqual(["place"]);
  await renamePath(root, "b", "new/place", true);
  expect((await readdir(root.path)).sort()).toEqual(["d", "new"]);
  await expect(renamePath(root, "d", "d/x/y", false)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(renamePath(root, "d", "d/in", false)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(renamePath(root, "none", "x", false)).rejects.toThrow(MissingError);
  await expect(renamePath(root, "d", "new/place", true)).rejects.toMatchObject({ code: "CONFLICT" });
});

test("renamePath() moves a link itself and nothing out of the root or into it", async () => {
  const { root, at, around } = await makeRoot({ "f": "" });
  await symlink("../secret", at("out"));
  await symlink("..", at("up"));
  await renamePath(root, "out", "moved", false);
  expect(await readlink(at("moved"))).toBe("../secret");
  for (const [from, to] of [["f", "up/f"], ["f", "../f"], ["up/secret", "s"], ["../secret", "s"]] as const) {
    await expect(renamePath(root, from, to, true)).rejects.toThrow(OutsideError);
  }
  expect((await readdir(around)).sort()).toEqual(["root", "secret"]);
});

test("readDisk() adds up", async () => {
  const { root } = await makeRoot();
  const disk = await readDisk(root);
  expect(disk.total_bytes).toBeGreaterThan(0);
  expect(disk.used_bytes + disk.available_bytes).toBeLessThanOrEqual(disk.total_bytes);
});
