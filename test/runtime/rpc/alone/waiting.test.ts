/** A client that waits for something that lasts, and gives up, leaves nothing behind. @module */
import type { HandlerContext } from "@connectrpc/connect";
import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createOutputLog } from "../../../../packages/runtime/processes/outputlog.ts";
import { createProcesses } from "../../../../packages/runtime/processes/processes.ts";
import { createProcessService } from "../../../../packages/runtime/rpc/process.ts";
import { createProcessesService } from "../../../../packages/runtime/rpc/processes.ts";
import { collectGarbage, liveBytes } from "../../../heap.ts";
import { shell } from "../serving.ts";

const TURNS = 20_000;
/** What one promise too many for each turn would exceed several times over. */
const MOST_BYTES = TURNS * 50;

/** Says how much more lives after so many turns, once what is made at the first ones is there. */
async function grownBy(turn: () => unknown): Promise<number> {
  const live = async () => {
    await collectGarbage();
    return liveBytes();
  };
  for (let done = 0; done < TURNS / 10; done++) await turn();
  const before = await live();
  for (let done = 0; done < TURNS; done++) await turn();
  return await live() - before;
}

test("a reader that stays attached costs the same after any number of writes", async () => {
  const log = createOutputLog(10_000);
  const leaving = new AbortController();
  const reading = (async () => {
    for await (const _ of log.read(0, { follow: true, signal: leaving.signal }));
  })();
  const grown = await grownBy(async () => {
    log.append("stdout", new Uint8Array(8));
    await setImmediate();
  });
  expect(grown).toBeLessThan(MOST_BYTES);
  leaving.abort();
  await reading;
  expect(getEventListeners(leaving.signal, "abort")).toEqual([]);
});

/** A process that lasts, and the services that know it. */
async function aProcess() {
  const processes = createProcesses();
  onTestFinished(() => processes.killAll());
  const { command } = shell("exec sleep 300");
  const entry = await processes.start({ argv: command, cwd: "/", env: {} }, { detached: true, stdin: true });
  const options = { processes } as
    & Parameters<typeof createProcessService>[0]
    & Parameters<typeof createProcessesService>[0];
  const { wait } = createProcessesService(options);
  const { writeStdin } = createProcessService(options);
  const processId = entry.running.pid;
  const call = async (method: typeof wait | typeof writeStdin, request: object) => {
    const leaving = new AbortController();
    const context = { signal: leaving.signal } as HandlerContext;
    const answer = Promise.resolve(method({ processId, ...request } as never, context)).catch(() => {});
    await setImmediate();
    leaving.abort();
    await answer;
    return getEventListeners(leaving.signal, "abort");
  };
  return { entry, wait: () => call(wait, {}), write: () => call(writeStdin, { payload: aByte }) };
}

const aByte = { case: "input", value: new Uint8Array(1) };

test("a process costs the same after any number of calls that write to it or wait for it", async () => {
  const { wait, write } = await aProcess();
  expect([await wait(), await write()]).toEqual([[], []]);
  expect(await grownBy(wait)).toBeLessThan(MOST_BYTES);
  expect(await grownBy(write)).toBeLessThan(MOST_BYTES);
});

test("an end reaches all that wait for it", async () => {
  const { entry } = await aProcess();
  const { signal } = new AbortController();
  const waiting = [entry.endedUnless(signal), entry.endedUnless(signal)];
  entry.kill();
  const want = { exitCode: -1, signal: "SIGKILL" };
  expect(await Promise.all(waiting)).toMatchObject([want, want]);
  expect(await entry.endedUnless(signal)).toMatchObject(want);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(await entry.endedUnless(AbortSignal.abort()), "it has ended anyway").toMatchObject(want);
});
