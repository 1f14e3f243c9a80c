/** watchFolder(): what it reports, in order, below new folders too, and when it ends. @module */
import { appendFile, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { MissingError, OutsideError } from "../../../packages/runtime/confine.ts";
import { type WatchEvent, watchFolder, type WatchOptions } from "../../../packages/runtime/files/watch.ts";
import { writeWhole } from "../../../packages/runtime/files/write.ts";
import { makeRoot, pieces, type TestRoot } from "../folders.ts";

/** Watches, and reads until an event fits. */
async function watchIn({ root }: TestRoot, path = "", options: Partial<WatchOptions> = {}) {
  const events = await watchFolder(root, path, { recursive: true, ...options });
  onTestFinished(async () => void await events.return(undefined));
  const seen: WatchEvent[] = [];
  const until = async (wanted: Partial<Record<string, string>>): Promise<WatchEvent> => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      const event = next.value;
      seen.push(event);
      if (Object.entries(wanted).every(([key, value]) => (event as Record<string, unknown>)[key] === value)) {
        return event;
      }
    }
    throw new Error(`Cannot find ${JSON.stringify(wanted)}: saw ${JSON.stringify(seen)}`);
  };
  expect((await events.next()).value).toEqual({ type: "ready" });
  return { events, seen, until };
}

test("watchFolder() tells what comes, changes and goes", async () => {
  const made = await makeRoot({ "old": "" });
  const { until } = await watchIn(made);
  await writeFile(made.at("new"), "");
  expect(await until({ path: "new" })).toEqual({ type: "created", path: "new", kind: "file" });
  await appendFile(made.at("old"), "more");
  expect(await until({ path: "old" })).toEqual({ type: "modified", path: "old" });
  await rm(made.at("old"));
  await until({ type: "removed", path: "old" });
  await rename(made.at("new"), made.at("newer"));
  await until({ type: "removed", path: "new" });
  await until({ type: "created", path: "newer" });
});

test("watchFolder() tells of a file that is written whole once, and never of what it is written in", async () => {
  const made = await makeRoot({ "f": "old" });
  const { until, seen } = await watchIn(made);
  await writeWhole(made.root, "f", pieces("n", "e", "w"));
  await writeFile(made.at("end"), "");
  await until({ type: "created", path: "end" });
  const paths = seen.flatMap((event) => "path" in event ? [`${event.type} ${event.path}`] : []);
  expect(paths.filter((path) => path !== "modified end")).toEqual(["created f", "created end"]);
});

test("watchFolder() sees below folders that are there, new, and moved in", async () => {
  const made = await makeRoot({ "a/b/": "" });
  await mkdir(`${made.around}/moved/deep`, { recursive: true });
  const { until } = await watchIn(made);
  await writeFile(made.at("a/b/f"), "");
  await until({ type: "created", path: "a/b/f" });
  await mkdir(made.at("a/c/d"), { recursive: true });
  await writeFile(made.at("a/c/d/f"), "");
  await until({ type: "created", path: "a/c/d/f", kind: "file" });
  await rename(`${made.around}/moved`, made.at("moved"));
  await until({ type: "created", path: "moved/deep", kind: "directory" });
  await writeFile(made.at("moved/deep/f"), "");
  await until({ type: "created", path: "moved/deep/f" });
});

test("watchFolder() sees only the folder itself where that is asked", async () => {
  const made = await makeRoot({ "a/": "" });
  const { until, seen } = await watchIn(made, "", { recursive: false });
  await writeFile(made.at("a/f"), "");
  await writeFile(made.at("end"), "");
  await until({ type: "created", path: "end" });
  expect(seen.some((event) => "path" in event && event.path === "a/f")).toBe(false);
});

test("watchFolder() reports a link and looks at nothing behind it", async () => {
  const made = await makeRoot();
  await mkdir(`${made.around}/outside`);
  const { until, seen } = await watchIn(made);
  await symlink("../outside", made.at("link"));
  expect(await until({ path: "link" })).toMatchObject({ kind: "symlink" });
  await writeFile(`${made.around}/outside/f`, "");
  await writeFile(made.at("end"), "");
  await until({ type: "created", path: "end" });
  expect(JSON.stringify(seen)).not.toContain("link/");
});

test("watchFolder() says nothing of a folder that has been moved out", async () => {
  const made = await makeRoot({ "a/b/": "" });
  const { until, seen } = await watchIn(made);
  await rename(made.at("a"), `${made.around}/gone`);
  await until({ type: "removed", path: "a" });
  await writeFile(`${made.around}/gone/b/f`, "");
  await writeFile(made.at("end"), "");
  await until({ type: "created", path: "end" });
  expect(JSON.stringify(seen)).not.toContain("b/f");
});

test("watchFolder() ends when its folder goes", async () => {
  const made = await makeRoot({ "a/": "" });
  const { events, until } = await watchIn(made, "a");
  await rm(made.at("a"), { recursive: true });
  await until({ type: "removed", path: "." });
  expect((await events.next()).done).toBe(true);
});

test("watchFolder() ends on abort and releases everything", async () => {
  const made = await makeRoot({ "a/b/c/": "" });
  const opened = (await readdir("/proc/self/fd")).length;
  const stop = new AbortController();
  const { events } = await watchIn(made, "", { signal: stop.signal });
  stop.abort();
  expect((await events.next()).done).toBe(true);
  // The system's one descriptor for all watches stays.
  expect((await readdir("/proc/self/fd")).length).toBeLessThanOrEqual(opened + 1);
});

test("watchFolder() says that it lost events rather than keep them all, and that it is alive", async () => {
  const made = await makeRoot();
  const { until } = await watchIn(made, "", { mostWaiting: 3, aliveMs: 20 });
  await until({ type: "alive" });
  await Promise.all(Array.from({ length: 50 }, (_, i) => writeFile(made.at(`${i}`), "")));
  await new Promise((resolve) => setTimeout(resolve, 300));
  await until({ type: "overflow" });
  await until({ type: "alive" });
});

test("watchFolder() takes a folder in the root only", async () => {
  const made = await makeRoot({ "f": "" });
  await symlink("..", made.at("up"));
  await expect(watchFolder(made.root, "up", { recursive: true })).rejects.toThrow(OutsideError);
  await expect(watchFolder(made.root, "f", { recursive: true })).rejects.toThrow(MissingError);
});
