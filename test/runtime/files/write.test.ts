/** writeWhole(): what readers see during the write, modes, links. What it refuses is asked of the REST API. @module */
import { chmod, readdir, readFile, stat, symlink } from "node:fs/promises";
import { expect, test } from "vitest";
import { writeWhole } from "../../../packages/runtime/files/write.ts";
import { makeRoot, pieces } from "../folders.ts";

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

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

test("writeWhole() takes no folder's place", async () => {
  const { root } = await makeRoot({ "folder/": "" });
  const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining("it is a folder") };
  await expect(writeWhole(root, "folder", pieces("x"))).rejects.toMatchObject(refused);
  expect(await readdir(root.path)).toEqual(["folder"]);
});
