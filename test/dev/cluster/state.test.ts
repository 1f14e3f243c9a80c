/** @module */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, expect, test } from "vitest";
import { findCluster, startCluster } from "../../../dev/cluster/cluster.ts";
import { definitionsIn } from "../../../dev/cluster/api.ts";
import { CLUSTER_VARIABLE, isRunning, startProcess, thisProcess } from "../../../dev/cluster/processes.ts";
import { removeAbandonedClusters, removeCluster } from "../../../dev/cluster/remove.ts";
import { type ClusterRecord, noteCluster, readRecord, saveCluster, writeRecord } from "../../../dev/cluster/state.ts";

const folder = mkdtempSync(join(tmpdir(), "hookbox-state-"));
// What this user's other clusters left is no business of a test.
process.env["XDG_CACHE_HOME"] = join(folder, "cache");
afterAll(() => rmSync(folder, { recursive: true }));

const GONE = { ...thisProcess(), startTime: "1" };
const RECORD: ClusterRecord = {
  id: "00000001",
  owner: thisProcess(),
  ready: true,
  server: "https://127.0.0.1:1",
  kubectl: "/bin/kubectl",
  nodes: "none",
  simulatedNodes: 0,
  processes: [],
};

function cluster(name: string, change: Partial<ClusterRecord>): string {
  const stateDir = join(folder, name);
  mkdirSync(join(stateDir, "etcd"), { recursive: true });
  writeRecord(stateDir, { ...RECORD, ...change });
  return stateDir;
}

test("removeCluster() ends the processes of the record and removes the folder", async () => {
  const logFile = join(folder, "sleep.log");
  const sleep = startProcess({ name: "sleep", command: "sleep", args: ["60"], logFile });
  const stateDir = cluster("removed", { processes: [sleep] });
  expect(await removeCluster(stateDir)).toBe(true);
  expect([isRunning(sleep), existsSync(stateDir)]).toEqual([false, false]);
});

test("removeCluster() ends what was started again and is not in the record", async () => {
  const logFile = join(folder, "again.log");
  const id = "0000f00d";
  const again = startProcess({
    ...{ name: "sleep", command: "sleep", args: ["60"], logFile },
    env: { [CLUSTER_VARIABLE]: id },
  });
  const stateDir = cluster("restarted", { id, processes: [GONE] });
  expect(await removeCluster(stateDir)).toBe(true);
  expect([isRunning(again), existsSync(stateDir)]).toEqual([false, false]);
});

test("removeCluster() leaves a folder alone that holds no cluster", async () => {
  const stateDir = join(folder, "other");
  mkdirSync(stateDir);
  writeFileSync(join(stateDir, "precious"), "");
  expect(await removeCluster(stateDir)).toBe(false);
  expect(readdirSync(stateDir)).toEqual(["precious"]);
});

test("findCluster() finds a whole cluster only", () => {
  expect(findCluster(cluster("whole", { processes: [thisProcess()] }))?.server).toBe(RECORD.server);
  expect(findCluster(cluster("half", { processes: [thisProcess(), GONE] }))).toBeUndefined();
  expect(findCluster(cluster("starting", { ready: false }))).toBeUndefined();
  expect(findCluster(join(folder, "absent"))).toBeUndefined();
});

test("startCluster() refuses a folder whose cluster is in use, or that contains other files", async () => {
  const stateDir = cluster("used", { owner: thisProcess(), ready: false });
  await expect(startCluster({ stateDir, nodes: "none" })).rejects.toThrow(`process ${thisProcess().pid} uses it`);
  const up = cluster("up", { owner: undefined });
  await expect(startCluster({ stateDir: up, nodes: "none" })).rejects.toThrow("a cluster runs there");
  const other = join(folder, "notes");
  mkdirSync(other);
  writeFileSync(join(other, "notes.txt"), "");
  await expect(startCluster({ stateDir: other, nodes: "none" })).rejects.toThrow("contains other files");
  expect([stateDir, up, other].every((path) => existsSync(path))).toBe(true);
});

test("removeAbandonedClusters() removes abandoned clusters and stale notes, and nothing else", async () => {
  const notes = join(folder, "clusters");
  const note = (name: string, change: Partial<ClusterRecord>) => {
    const stateDir = cluster(name, change);
    noteCluster(notes, stateDir, { ...RECORD, ...change });
    return stateDir;
  };
  const owned = note("owned", { id: "0000000a" });
  const detached = note("detached", { id: "0000000b", owner: undefined });
  const abandoned = note("abandoned", { id: "0000000c", owner: GONE });
  const replaced = note("replaced", { id: "0000000d", owner: GONE });
  cluster("replaced", { id: "0000000e" });
  const lines: string[] = [];
  await removeAbandonedClusters(notes, (line) => lines.push(line));
  expect(readdirSync(notes)).toEqual(["0000000a.json", "0000000b.json"]);
  expect([owned, detached, abandoned, replaced].map((path) => existsSync(path))).toEqual([true, true, false, true]);
  expect(lines).toEqual([expect.stringContaining(abandoned)]);
});

test("removeAbandonedClusters() leaves a cluster that was left running after it was noted", async () => {
  const notes = join(folder, "kept");
  const stateDir = cluster("kept-cluster", { owner: undefined });
  noteCluster(notes, stateDir, { ...RECORD, owner: GONE });
  await removeAbandonedClusters(notes, () => {});
  expect([existsSync(stateDir), readdirSync(notes)]).toEqual([true, ["00000001.json"]]);
});

test("saveCluster() has the record and the note say the same", () => {
  const notes = join(folder, "saved");
  const stateDir = cluster("saved-cluster", { owner: GONE });
  noteCluster(notes, stateDir, { ...RECORD, owner: GONE });
  saveCluster(stateDir, { ...RECORD, owner: undefined }, notes);
  expect(readRecord(stateDir)).not.toHaveProperty("owner");
  expect(JSON.parse(readFileSync(join(notes, "00000001.json"), "utf8")).record).toEqual(readRecord(stateDir));
});

test("removeAbandonedClusters() touches no cluster of another checkout, abandoned or not, as long as that exists", async () => {
  const notes = join(folder, "others");
  const logFile = join(folder, "others.log");
  const sleep = startProcess({ name: "sleep", command: "sleep", args: ["60"], logFile });
  const other = mkdtempSync(join(folder, "checkout-"));
  const abandoned = cluster("abandoned-elsewhere", { id: "0000001a", owner: GONE, processes: [sleep] });
  noteCluster(notes, abandoned, { ...RECORD, id: "0000001a", owner: GONE, processes: [sleep] }, other);
  noteCluster(notes, join(folder, "nowhere"), { ...RECORD, id: "0000001b", processes: [sleep] }, other);
  await removeAbandonedClusters(notes, () => {});
  expect([existsSync(abandoned), isRunning(sleep), readdirSync(notes).length]).toEqual([true, true, 2]);
  rmSync(other, { recursive: true });
  await removeAbandonedClusters(notes, () => {});
  expect([existsSync(abandoned), isRunning(sleep), readdirSync(notes).length]).toEqual([false, false, 0]);
});

test("removeAbandonedClusters() ends a cluster whose folder was deleted under it", async () => {
  const notes = join(folder, "lost");
  const logFile = join(folder, "lost.log");
  const sleep = startProcess({ name: "sleep", command: "sleep", args: ["60"], logFile });
  const stateDir = join(folder, "deleted");
  noteCluster(notes, stateDir, { ...RECORD, owner: undefined, processes: [sleep] });
  await removeAbandonedClusters(notes, () => {});
  expect([isRunning(sleep), readdirSync(notes), existsSync(stateDir)]).toEqual([false, [], false]);
});

test("readRecord() reads what writeRecord() wrote", () => {
  expect(readRecord(cluster("record", { whyNotReal: "no root" }))).toEqual({ ...RECORD, whyNotReal: "no root" });
});

test("definitionsIn() takes CustomResourceDefinitions out of streams of documents", () => {
  const text =
    "kind: Namespace\nmetadata: {name: n}\n---\nkind: CustomResourceDefinition\nmetadata: {name: a.example}\n---\n";
  const json = '{"kind":"CustomResourceDefinition","metadata":{"name":"b.example"}}';
  expect(definitionsIn([text, json]).map(({ metadata }) => metadata.name)).toEqual(["a.example", "b.example"]);
});
