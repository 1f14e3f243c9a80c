/** A process that swaps a folder for a symlink all the time gets nothing out of the root, and nothing in. @module */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { openForRead } from "../../packages/runtime/files/read.ts";
import { removePath } from "../../packages/runtime/files/manage.ts";
import { writeWhole } from "../../packages/runtime/files/write.ts";
import { listFolder } from "../../packages/runtime/files/list.ts";
import { makeRoot, pieces } from "./folders.ts";

/** Runs in a thread of its own: the folder is a symlink out of the root half of the time. */
const SWAPPER = `
const { renameSync, rmSync, symlinkSync } = require("node:fs");
const { workerData } = require("node:worker_threads");
const [folder, aside, link, target] = workerData;
const attempt = (act) => { try { act(); return true; } catch { return false; } };
const rest = () => { for (const end = performance.now() + 0.05; performance.now() < end;); };
symlinkSync(target, link);
for (;;) {
  renameSync(folder, aside);
  // A write may have made the folder anew in between.
  while (!attempt(() => renameSync(link, folder))) attempt(() => rmSync(folder, { recursive: true, force: true }));
  rest();
  renameSync(folder, link);
  while (!attempt(() => renameSync(aside, folder))) attempt(() => rmSync(folder, { recursive: true, force: true }));
  rest();
}`;

test("nothing follows a symlink that is swapped in", async () => {
  const { root, around, at } = await makeRoot({ "folder/secret": "inside" });
  const outer = join(around, "outer");
  mkdirSync(join(outer, "sub"), { recursive: true });
  for (const path of ["secret", "sub/f"]) writeFileSync(join(outer, path), "SECRET");
  const swapper = new Worker(SWAPPER, { eval: true, workerData: [at("folder"), at("aside"), at("link"), outer] });
  const broken: Error[] = [];
  swapper.on("error", (error) => broken.push(error));
  onTestFinished(async () => void await swapper.terminate());
  const outcomes: Record<string, number> = {};
  const attempt = async (name: string, act: () => Promise<string>) => {
    const outcome = await act().catch((error) => `refused: ${error.name}`);
    outcomes[`${name} ${outcome}`] = (outcomes[`${name} ${outcome}`] ?? 0) + 1;
  };
  for (let i = 0; i < 250; i++) {
    await attempt("read", async () => {
      const { handle } = await openForRead(root, "folder/secret");
      const text = await handle?.readFile("utf8") ?? "none";
      await handle?.close();
      return text;
    });
    await attempt("write", async () => `${await writeWhole(root, "folder/planted", pieces("x"))}`);
    await attempt(
      "list",
      async () => (await listFolder(root, "folder")).some(({ name }) => name === "sub") ? "LEAK" : "ok",
    );
    await attempt("remove", async () => {
      await removePath(root, "folder/sub", true);
      return "REMOVED";
    });
  }
  await swapper.terminate();
  expect(broken).toEqual([]);
  expect(Object.keys(outcomes).filter((outcome) => /SECRET|LEAK|REMOVED/.test(outcome))).toEqual([]);
  // Both happened: the folder was found, and it was found swapped.
  expect(outcomes["read inside"]).toBeGreaterThan(0);
  expect(Object.keys(outcomes).some((outcome) => outcome.startsWith("read refused"))).toBe(true);
  expect(readdirSync(outer).sort()).toEqual(["secret", "sub"]);
  expect(readFileSync(join(outer, "sub/f"), "utf8")).toBe("SECRET");
});
