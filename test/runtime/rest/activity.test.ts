/** Whether anything goes on inside, as a router asks it that suspends idle sandboxes. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ProcessEntry } from "../../../packages/process/proctable.ts";
import { activityOf } from "../../../packages/runtime/rest/rest.ts";
import { until } from "../../eventually.ts";
import { startMain } from "../../mainprocess.ts";
import { makeRoot } from "../folders.ts";
import { send, startTestRuntime } from "../servers.ts";

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

test("jobs are what commands and code leave behind, until it ends", async () => {
  const { root } = await makeRoot({});
  // A process of its own: other tests may have left processes of this one's runtimes.
  const ports = ["--host", "127.0.0.1", "--port", "0", "--rest-port", "0", "--grpc-port", "0"];
  const started = await startMain("node", ["packages/runtime/main.ts", "--root", root.path, ...ports], "Listening");
  const [runtime] = started.said("Listening") as [{ port: number; restPort: number }];
  const jobs = async () => JSON.parse((await send(runtime.restPort, "GET", "/v1/activity")).text);
  const execute = (command: string) =>
    send(runtime.port, "POST", "/execute", {
      body: JSON.stringify({ command }),
      headers: { "content-type": "application/json" },
    });
  expect(await jobs()).toMatchObject({ jobs: 0, networkBytes: expect.any(Number) });
  await execute("sh -c 'sleep 300 > /dev/null 2>&1 & echo $! > pid'");
  expect(await jobs()).toMatchObject({ running: 0, jobs: 1 });
  await execute("sh -c 'kill $(cat pid)'");
  await until(async () => (await jobs()).jobs === 0);
});
