/** writeWhole(): whole or not at all, modes, limits, links. @module */
import { chmod, readdir, readFile, stat, symlink } from "node:fs/promises";
import { expect, test } from "vitest";
import { OutsideError } from "../../../runtime/confine.ts";
import { Refused } from "../../../runtime/files/refused.ts";
import { writeWhole } from "../../../runtime/files/write.ts";
import { makeRoot, pieces } from "../folders.ts";

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

test("writeWhole() makes folders on the way and answers how much it wrote", async () => {
  const { root, at } = await makeRoot();
  expect(await writeWhole(root, "a/b/c.txt", pieces("one ", "two"))).toBe(7);
  expect(await readFile(at("a/b/c.txt"), "utf8")).toBe("one two");
  expect(await modeOf(at("a/b/c.txt"))).toBe("644");
});

test("writeWhole() shows readers the old file until the new one is whole", async () => {
  const { root, at } = await makeRoot({ "f": "old" });
  let seen: string | undefined;
  async function* source() {
    yield* pieces("ne");
    seen = await readFile(at("f"), "utf8");
    yield* pieces("w");
  }
  await writeWhole(root, "f", source());
  expect(seen).toBe("old");
  expect(await readFile(at("f"), "utf8")).toBe("new");
  expect(await readdir(root.path)).toEqual(["f"]);
});

test("writeWhole() leaves the old file and nothing else when the source fails", async () => {
  const { root, at } = await makeRoot({ "f": "old" });
  async function* source() {
    yield* pieces("ne");
    throw new Error("connection lost");
  }
  await expect(writeWhole(root, "f", source())).rejects.toThrow("connection lost");
  expect(await readFile(at("f"), "utf8")).toBe("old");
  expect(await readdir(root.path)).toEqual(["f"]);
});

test("writeWhole() stops at the limit and leaves nothing", async () => {
  const { root } = await makeRoot();
  const writing = writeWhole(root, "f", pieces("12345", "6"), { maxBytes: 5 });
  await expect(writing).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
  expect(await readdir(root.path)).toEqual([]);
  expect(await writeWhole(root, "f", pieces("12345"), { maxBytes: 5 })).toBe(5);
});

test("writeWhole() keeps the mode of the file that it replaces unless told one", async () => {
  const { root, at } = await makeRoot({ "tool": "old" });
  await chmod(at("tool"), 0o755);
  await writeWhole(root, "tool", pieces("new"));
  expect(await modeOf(at("tool"))).toBe("755");
  await writeWhole(root, "tool", pieces("new"), { mode: 0o600 });
  expect(await modeOf(at("tool"))).toBe("600");
});

test("writeWhole() sets the mode whatever the umask", async () => {
  const { root, at } = await makeRoot();
  await writeWhole(root, "f", pieces(""), { mode: 0o777 });
  expect(await modeOf(at("f"))).toBe("777");
});

test("writeWhole() writes through a link within the root, and replaces it if asked", async () => {
  const { root, at } = await makeRoot({ "real": "old", "other": "kept" });
  await symlink("real", at("link"));
  await writeWhole(root, "link", pieces("new"));
  expect(await readFile(at("real"), "utf8")).toBe("new");
  expect((await readdir(root.path, { withFileTypes: true })).find(({ name }) => name === "link")?.isSymbolicLink())
    .toBe(true);
  await writeWhole(root, "link", pieces("own"), { followLast: false });
  expect(await readFile(at("real"), "utf8")).toBe("new");
  expect(await readFile(at("link"), "utf8")).toBe("own");
});

test.for([["folder", "it is a folder"], ["", "it is a folder"], ["file/below", "is no folder"]] as const)(
  "writeWhole(%j) is refused",
  async ([path, why]) => {
    const { root } = await makeRoot({ "folder/": "", "file": "" });
    const error = await writeWhole(root, path, pieces("x")).catch((error) => error);
    expect(error).toBeInstanceOf(Refused);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(why) });
  },
);

test("writeWhole() follows no link out of the root, also where nothing is there yet", async () => {
  const { root, at, around } = await makeRoot();
  await symlink("../secret", at("link"));
  await symlink("../planted", at("dangling"));
  await symlink("..", at("up"));
  for (const path of ["link", "dangling", "up/planted", "../planted"]) {
    await expect(writeWhole(root, path, pieces("x"))).rejects.toThrow(OutsideError);
  }
  expect((await readdir(around)).sort()).toEqual(["root", "secret"]);
  expect(await readFile(`${around}/secret`, "utf8")).toBe("SECRET");
});
