/** `npm run down` leaves nothing of a cluster, nor of a demo that was kept. @module */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { type ClusterRecord, writeRecord } from "../../../dev/cluster/state.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Runs it in a copy of this checkout in which these folders are, and the record of a cluster that has ended. */
async function down(isUp: boolean): Promise<{ output: string; left: string[] }> {
  const copy = makeTempFolder();
  const isSource = (path: string) => !/\/node_modules$/.test(path);
  for (const folder of ["dev", "packages/kube", "packages/process", "packages/api"]) {
    cpSync(join(ROOT, folder), join(copy, folder), { recursive: true, filter: isSource });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  writeFileSync(join(copy, "package.json"), readFileSync(join(ROOT, "package.json")));
  const folders = ["demo", "demo-logs"].map((name) => join(copy, ".hookbox", name));
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "file"), "");
  }
  const record: ClusterRecord = {
    ...{ id: "00000000", ready: true, server: "", kubectl: "", nodes: "none", simulatedNodes: 0, processes: [] },
  };
  const state = join(copy, ".hookbox/cluster");
  if (isUp) writeRecord(state, record);
  const { stdout } = await promisify(execFile)(process.execPath, ["dev/cluster/down.ts"], { cwd: copy });
  return { output: stdout, left: [state, ...folders].filter((folder) => existsSync(folder)) };
}

test("down ends the cluster and removes what a demo has left", async () => {
  expect(await down(true)).toEqual({ output: "The cluster is down; nothing of it is left.\n", left: [] });
});

test("where none is up, the logs of a demo that failed stay", async () => {
  const { output, left } = await down(false);
  expect(output).toBe("No cluster is up.\n");
  expect(left).toHaveLength(2);
});
