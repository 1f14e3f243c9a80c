/** Whether anything goes on inside, as a router asks it that suspends idle sandboxes. */
import { chmodSync, copyFileSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import type { ProcessEntry } from "../../../packages/process/proctable.ts";
import { activityOf } from "../../../packages/runtime/rest/rest.ts";
import { until } from "../../eventually.ts";
import { startMain } from "../../mainprocess.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { makeRoot } from "../folders.ts";
import { send, startTestRuntime } from "../servers.ts";
import { FREE_PORTS } from "../freeports.ts";

const NOW = new Date("2026-11-21T12:00:00Z");
const QUIET = {
  runningCommands: 0,
  runningTerminals: 0,
  attachedStreams: 0,
  busyContexts: 0,
  jobs: [] as ProcessEntry[],
  networkBytes: undefined as number | undefined,
  cpuUsage: 0,
  lastActiveAt: new Date("2026-11-21T11:59:30Z"),
};
const SANDBOX = {
  cpuSeconds: 1.5,
  memoryBytes: 0,
  memoryLimitBytes: undefined,
  cpuLimit: 1,
  processCount: 1,
  runnableCount: 2,
  source: "proc",
} as const;
const answer = (activity: Partial<typeof QUIET>) =>
  activityOf({ sandbox: SANDBOX, activity: { ...QUIET, ...activity }, processes: [] }, NOW);

test("activityOf() counts what goes on, and since when nothing does", () => {
  const counts = { running: 0, terminals: 0, streams: 0, jobs: 0 };
  expect(answer({})).toEqual({ ...counts, cpuSeconds: 1.5, runnable: 2, idleSeconds: 30 });
  expect(answer({ networkBytes: 7 })).toMatchObject({ networkBytes: 7 });
  expect(answer({ runningCommands: 2, busyContexts: 1 })).toMatchObject({ running: 3, idleSeconds: 0 });
  expect(answer({ runningTerminals: 1 })).toMatchObject({ terminals: 1, idleSeconds: 0 });
  expect(answer({ attachedStreams: 1 })).toMatchObject({ streams: 1, idleSeconds: 0 });
  expect(answer({ lastActiveAt: new Date(NOW.getTime() + 5000) }).idleSeconds).toBe(0);
});

test("who asks for the activity needs no token, and is none", async () => {
  const { root } = await makeRoot({});
  const tokenFile = join((await makeRoot({})).root.path, "token");
  await writeFile(tokenFile, "secret");
  const runtime = await startTestRuntime(root.path, "--token-file", tokenFile);
  try {
    const ask = async () => JSON.parse((await send(runtime.restPort, "GET", "/v1/activity")).text);
    const before = await ask();
    expect(before).toMatchObject({ running: 0, terminals: 0, streams: 0, cpuSeconds: expect.any(Number) });
    const after = await ask();
    expect(after.idleSeconds).toBeGreaterThan(before.idleSeconds);
    expect((await send(runtime.restPort, "GET", "/v1/metadata")).status).toBe(401);
  } finally {
    await runtime.stop();
  }
});

/** Starts a runtime as a process of its own: other tests may have left processes of this one's runtimes. */
async function aRuntime(workdir: string, ...args: string[]) {
  const ports = ["--host", "127.0.0.1", ...FREE_PORTS];
  const { said } = await startMain(
    "node",
    ["packages/runtime/main.ts", "--workdir", workdir, ...args, ...ports],
    "Listening",
  );
  const [{ port, restPort }] = said("Listening") as [{ port: number; restPort: number }];
  const headers = { "content-type": "application/json" };
  const list = "/hookbox.runtime.v1.ProcessesService/List";
  return {
    activity: async () => JSON.parse((await send(restPort, "GET", "/v1/activity")).text),
    execute: (command: string) => send(port, "POST", "/execute", { body: JSON.stringify({ command }), headers }),
    jobs: async () => {
      const { jobs = [] } = JSON.parse((await send(restPort, "POST", list, { body: "{}", headers })).text);
      return jobs as { processId: number; command: string[] }[];
    },
  };
}

test("jobs are what commands and code leave behind, until it ends", async () => {
  const { activity, execute } = await aRuntime(makeTempFolder());
  expect(await activity()).toMatchObject({ jobs: 0, networkBytes: expect.any(Number) });
  await execute("sh -c 'sleep 300 > /dev/null 2>&1 & echo $! > pid'");
  expect(await activity()).toMatchObject({ running: 0, jobs: 1 });
  await execute("sh -c 'kill $(cat pid)'");
  await until(async () => (await activity()).jobs === 0);
});

test("a job that sudo has started, as root and with another environment, is one, too, with its children", async () => {
  const workdir = makeTempFolder();
  chmodSync(workdir, 0o755);
  // Like sudo: it changes the user, and removes all variables.
  const program = join(workdir, "root-env");
  copyFileSync("/usr/bin/env", program);
  chmodSync(program, 0o4755);
  const user = process.getuid?.() === 0 ? "nobody" : userInfo().username;
  const { activity, execute, jobs } = await aRuntime(workdir, "--user", user);
  const started = './root-env -i sh -p -c "setsid sleep 300 & exec sleep 301" > /dev/null 2>&1 &';
  await execute(`sh -c '${started}'`);
  const commands = async () => (await jobs()).map(({ command }) => command.join(" ")).sort().join();
  await until(async () => await commands() === "sleep 300,sleep 301");
  expect(await activity()).toMatchObject({ running: 0, jobs: 2 });
  const ids = (await jobs()).map(({ processId }) => processId);
  expect(ids.map((id) => statSync(`/proc/${id}`).uid)).toEqual(ids.map(() => process.getuid?.()));
  for (const id of ids) process.kill(id);
  await until(async () => await commands() === "");
});
