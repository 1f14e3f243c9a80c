/** What packPath() cannot read: the rest comes, and the tar says what is missing. What stat() says of a size may be wrong. @module */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, truncateSync } from "node:fs";
import { readdir, symlink } from "node:fs/promises";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { codeOf, createRoot } from "../../../packages/runtime/confine.ts";
import { packPath } from "../../../packages/runtime/files/pack.ts";
import { openForRead } from "../../../packages/runtime/files/read.ts";
import { refusedFor } from "../../../packages/runtime/files/refused.ts";
import { createTransferCount } from "../../../packages/sdk/files/transfer.ts";
import { unpackInto } from "../../../packages/sdk/disk/unpack.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { makeRoot, type TestRoot } from "../folders.ts";
import { Buffer } from "node:buffer";

const NOBODY = 65_534;

/** Until the test ends root may read no more than anybody. */
function asNobody({ around }: TestRoot): void {
  chmodSync(around, 0o755);
  if (process.geteuid?.() !== 0) return;
  process.seteuid?.(NOBODY);
  onTestFinished(() => process.seteuid?.(0));
}

/** Unpacks as the SDK does; returns what came, and what is missing. */
async function download(chunks: AsyncIterable<Uint8Array>, filter?: (path: string) => boolean) {
  const folder = makeTempFolder();
  const tally = createTransferCount(undefined, undefined);
  await unpackInto(chunks, { folder, filter, tally });
  const text = (path: string) => readFileSync(`${folder}/${path}`, "utf8");
  return { folder, text, files: tally.done.files, skipped: tally.done.skipped };
}

test("what may not be read is left out, and named", async () => {
  const made = await makeRoot({ "from/a": "1", "from/secret": "2", "from/shut/in": "3", "from/z": "4" });
  chmodSync(made.at("from/secret"), 0);
  chmodSync(made.at("from/shut"), 0);
  const folder = makeTempFolder();
  asNobody(made);
  const chunks = await packPath(made.root, "from");
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  process.seteuid?.(process.getuid?.() ?? 0);
  const { text, files, skipped } = await download((async function* () {
    yield* await Promise.resolve(parts);
  })());
  expect([text("a"), text("z"), files]).toEqual(["1", "4", 2]);
  expect(skipped.toSorted((a, b) => a.path < b.path ? -1 : 1)).toEqual([
    { path: "secret", reason: "permission denied" },
    { path: "shut", reason: "permission denied" },
  ]);
  // Other programs take the rest.
  execFileSync("tar", ["-xf", "-", "-C", folder], { input: Buffer.concat(parts), stdio: ["pipe", "ignore", "ignore"] });
  expect((await readdir(folder)).sort()).toEqual(["a", "shut", "z"]);
});

test("what may not be read at all is refused before anything is sent", async () => {
  const made = await makeRoot({ "secret": "2", "shut/in": "3" });
  chmodSync(made.at("secret"), 0);
  chmodSync(made.at("shut"), 0);
  asNobody(made);
  for (const path of ["secret", "shut"]) {
    expect(await packPath(made.root, path).then(() => "packed", codeOf), path).toBe("EACCES");
  }
});

test("pipes and links that lead out are named, unless the reader leaves them out itself", async () => {
  const made = await makeRoot({ "from/f": "1" });
  await symlink("../../secret", made.at("from/out"));
  execFileSync("mkfifo", [made.at("from/pipe")]);
  const { skipped } = await download(await packPath(made.root, "from"));
  expect(skipped.toSorted((a, b) => a.path < b.path ? -1 : 1)).toEqual([
    { path: "out", reason: "it leads out of the root" },
    { path: "pipe", reason: "it is a socket, pipe or device" },
  ]);
  const chosen = await download(await packPath(made.root, "from"), (path) => path !== "pipe");
  expect(chosen.skipped.map(({ path }) => path)).toEqual(["out"]);
});

test("a file that becomes shorter while it is read is named: a part of it are zeros", async () => {
  const made = await makeRoot({ "from/f": "x".repeat(4_000_000) });
  const chunks = await packPath(made.root, "from");
  async function* shortened() {
    for await (const chunk of chunks) {
      truncateSync(made.at("from/f"), 1000);
      yield chunk;
    }
  }
  const { text, skipped } = await download(shortened());
  const zeros = [...text("f")].filter((character) => character === "\0").length;
  expect(zeros).toBeGreaterThan(0);
  expect(skipped).toEqual([
    { path: "f", reason: `it became shorter while it was read: its last ${zeros} bytes are zeros` },
  ]);
});

test("files that the kernel makes up come as they are read, whatever size they say they have", async () => {
  const root = await createRoot("/proc/sys/kernel");
  const { text, skipped } = await download(await packPath(root, "random"));
  expect(text("uuid")).toMatch(/^[0-9a-f-]{36}\n$/);
  expect(text("boot_id")).toBe(readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  expect(skipped).toEqual([]);
});

test("what the system cannot read is said in words, not as a fault of the runtime", async () => {
  const root = await createRoot("/proc/self");
  const error = await openForRead(root, "mem").then(({ handle }) => handle?.close(), (error) => error);
  expect(refusedFor(error, "mem")?.message).toBe('Cannot use "mem": the system says input/output error');
});
