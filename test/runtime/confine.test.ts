/** createRoot(): where a path ends up, and what is refused. @module */
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRoot, InvalidPathError, MissingError, OutsideError, type Root } from "../../packages/runtime/confine.ts";

let base: string;
let root: Root;

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "confine-")));
  await mkdir(join(base, "home/folder/deep"), { recursive: true });
  await mkdir(join(base, "homework"));
  await writeFile(join(base, "home/file"), "inside");
  await writeFile(join(base, "secret"), "outside");
  const links: Record<string, string> = {
    tofile: "file",
    tofolder: "folder",
    absolute: join(base, "home/folder"),
    around: "../home/file",
    "folder/deep/up": "../../file",
    chain: "tofolder/deep/up",
    out: "../secret",
    outabsolute: join(base, "secret"),
    outfolder: "..",
    sibling: join(base, "homework"),
    etc: "/etc",
    dangling: "nothing",
    danglingout: "../nothing",
    loop: "loop",
    ping: "pong",
    pong: "ping",
  };
  for (const [name, target] of Object.entries(links)) await symlink(target, join(base, "home", name));
  await symlink(join(base, "home"), join(base, "alias"));
  root = await createRoot(join(base, "home"));
});

afterAll(() => rm(base, { recursive: true }));

test.for(
  [
    ["", ""],
    [".", ""],
    ["/", "outside"],
    ["file", "file"],
    ["./folder//deep/", "folder/deep"],
    ["folder/../file", "file"],
    ["tofile", "file"],
    ["tofolder/deep", "folder/deep"],
    ["absolute/deep", "folder/deep"],
    ["around", "file"],
    ["chain", "file"],
    ["../home/file", "file"],
    ["..", "outside"],
    ["../homework", "outside"],
    ["../secret", "outside"],
    ["folder/../../secret", "outside"],
    ["out", "outside"],
    ["outabsolute", "outside"],
    ["outfolder", "outside"],
    ["outfolder/secret", "outside"],
    ["outfolder/home/file", "file"],
    ["sibling", "outside"],
    ["etc/passwd", "outside"],
    ["danglingout", "outside"],
    ["dangling", "missing"],
    ["none", "missing"],
    ["file/below", "missing"],
    ["loop", "invalid"],
    ["ping", "invalid"],
    ["file\0.txt", "invalid"],
    ["n".repeat(256), "invalid"],
    ["n/".repeat(3000), "invalid"],
  ] as const,
)("resolve(%j) ends at %j", async ([path, want]) => {
  const errors = { outside: OutsideError, missing: MissingError, invalid: InvalidPathError };
  if (want in errors) await expect(root.resolve(path)).rejects.toThrow(errors[want as keyof typeof errors]);
  else expect(await root.resolve(path)).toBe(join(base, "home", want));
});

test("resolve() takes an absolute path within the root", async () => {
  expect(await root.resolve(join(base, "home/tofile"))).toBe(join(base, "home/file"));
  await expect(root.resolve(join(base, "homework"))).rejects.toThrow(OutsideError);
});

test.for(
  [
    ["none", "none"],
    ["a/b/../c", "a/c"],
    ["a/../../secret2", "outside"],
    ["dangling", "nothing"],
    ["dangling/below", "nothing/below"],
    ["danglingout", "outside"],
    ["danglingout/below", "outside"],
    ["file/below", "missing"],
  ] as const,
)("resolve(%j) with missing allowed ends at %j", async ([path, want]) => {
  const found = root.resolve(path, { missing: "allow" });
  if (want === "outside") await expect(found).rejects.toThrow(OutsideError);
  else if (want === "missing") await expect(found).rejects.toThrow(MissingError);
  else expect(await found).toBe(join(base, "home", want));
});

test("locate() can leave the last symlink alone, and only the last", async () => {
  expect(await root.locate("out", { followLast: false })).toEqual({
    parts: ["out"],
    path: join(base, "home/out"),
    exists: true,
  });
  await expect(root.locate("outfolder/secret", { followLast: false })).rejects.toThrow(OutsideError);
});

test("createRoot() makes the folder, and sees through a symlink to it", async () => {
  expect((await createRoot(join(base, "made/below"))).path).toBe(join(base, "made/below"));
  expect((await createRoot(join(base, "alias"))).path).toBe(join(base, "home"));
  await expect(createRoot(join(base, "secret"))).rejects.toThrow();
});

test("a refusal says nothing about what is outside", async () => {
  const refusal = await root.resolve("out").catch((error: Error) => error.message);
  expect(refusal).toBe('Cannot use "out": it leads out of the root');
});

test("the whole file system may be the root", async () => {
  const whole = await createRoot("/");
  expect(await whole.resolve(join(base, "home/out"))).toBe(join(base, "secret"));
  expect(await whole.resolve("../../tmp/..")).toBe("/");
});
