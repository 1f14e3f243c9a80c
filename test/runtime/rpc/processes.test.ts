/** hookbox.runtime.v1.ProcessesService: detached processes outlive their callers, and metrics. @module */
import { Code, createClient } from "@connectrpc/connect";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type AttachResponse,
  ProcessesService,
} from "../../../packages/runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService } from "../../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { aServer, decode, encode, shell } from "./serving.ts";
import { eventually } from "../../eventually.ts";

async function clients() {
  const server = await aServer();
  const { transport } = server;
  return {
    ...server,
    client: createClient(ProcessesService, transport),
    process: createClient(ProcessService, transport),
  };
}

/** Each event as one word: `0:text`, `!0:text` for stderr, `lost:N`, `exit:N`. */
function word({ event }: AttachResponse): string {
  if (event.case === "truncated") return `lost:${event.value.beforeOffset}`;
  if (event.case === "started") return "started";
  if (event.case === "end") return `exit:${event.value.exitCode}${event.value.signal}`;
  const { offset, data } = event.value as Extract<typeof event, { case: "output" }>["value"];
  return `${data.case === "stderr" ? "!" : ""}${offset}:${decode(data.value as Uint8Array)}`;
}

async function words(events: AsyncIterable<AttachResponse>): Promise<string[]> {
  const all: string[] = [];
  for await (const event of events) all.push(word(event));
  return all;
}

test("a command gets its caller's trace if that is recorded, unless it is given another one", async () => {
  const { client, process } = await clients();
  const recorded = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const ask = async (headers: Record<string, string>, envVars: Record<string, string> = {}) => {
    const config = { ...shell("echo $TRACEPARENT,$TRACESTATE"), envVars };
    const { stdout } = await process.execute({ config }, { headers });
    const { processId } = await client.startDetached({ config }, { headers });
    await client.wait({ processId });
    const [first] = await words(client.attach({ processId }));
    expect(first).toBe(`0:${decode(stdout)}`);
    return decode(stdout).trim();
  };
  expect(await ask({ traceparent: recorded, tracestate: "a=b" })).toBe(`${recorded},a=b`);
  expect(await ask({ traceparent: recorded }, { TRACEPARENT: "own" })).toBe("own,");
  for (const traceparent of [recorded.replace(/01$/, "00"), "nonsense"]) {
    expect(await ask({ traceparent, tracestate: "a=b" })).toBe(",");
  }
  expect(await ask({})).toBe(",");
});

test("a detached process goes on without its caller, and its output is read again from an offset", async () => {
  const { client, process } = await clients();
  const config = shell("echo one; read line; echo $line >&2; exit 6");
  const { processId } = await client.startDetached({ config, stdin: true, name: "job" });
  const leave = new AbortController();
  const first = client.attach({ processId }, { signal: leave.signal })[Symbol.asyncIterator]();
  expect(word((await first.next()).value as AttachResponse)).toBe("0:one\n");
  leave.abort();
  await expect(first.next()).rejects.toMatchObject({ code: Code.Canceled });
  await process.writeStdin({ processId, payload: { case: "input", value: encode("two\n") } });
  expect(await client.wait({ processId })).toMatchObject({ end: { exitCode: 6, signal: "", timedOut: false } });
  expect(await words(client.attach({ processId }))).toEqual(["0:one\n", "!4:two\n", "exit:6"]);
  expect(await words(client.attach({ processId, offset: 6n }))).toEqual(["!6:o\n", "exit:6"]);
  expect(await client.list({})).toMatchObject({
    processes: [{
      processId,
      name: "job",
      detached: true,
      terminal: false,
      outputBytes: 8n,
      attached: 0,
      end: { exitCode: 6 },
    }],
  });
  await client.remove({ processId });
  expect(await client.list({})).toMatchObject({ processes: [] });
});

test("Attach tells what is lost", async () => {
  const { client } = await clients();
  const { processId } = await client.startDetached({ config: shell("head -c 1000000 /dev/zero") });
  await client.wait({ processId });
  const [lost, next] = await words(client.attach({ processId, offset: 5n }));
  const before = Number(/^lost:(\d+)$/.exec(lost ?? "")?.[1]);
  expect(before).toBeGreaterThan(800_000);
  expect(next?.startsWith(`${before}:`)).toBe(true);
});

test("Attach without following ends with what there is, and an offset ahead is refused", async () => {
  const { client, processes } = await clients();
  const { processId } = await client.startDetached({ config: shell("echo one; sleep 300") });
  await eventually(() => processes.get(processId)?.log?.size()).toBe(4);
  expect(await words(client.attach({ processId, noFollow: true }))).toEqual(["0:one\n"]);
  await expect(words(client.attach({ processId, offset: 5n }))).rejects.toMatchObject({ code: Code.OutOfRange });
});

test("Kill ends the whole session, once", async () => {
  const { client } = await clients();
  const { processId } = await client.startDetached({ config: shell("sleep 300 & wait"), pty: { cols: 80, rows: 24 } });
  await expect(client.remove({ processId })).rejects.toMatchObject({ code: Code.FailedPrecondition });
  await client.kill({ processId });
  expect((await client.wait({ processId })).end).toMatchObject({ exitCode: -1, signal: "SIGKILL" });
  await expect(client.kill({ processId })).rejects.toMatchObject({ code: Code.NotFound });
});

test("a time limit kills, and says so", async () => {
  const { client } = await clients();
  const { processId } = await client.startDetached({ config: shell("sleep 300"), timeoutMs: 50n });
  expect((await client.wait({ processId })).end).toMatchObject({ exitCode: -1, timedOut: true });
});

test("Wait has the caller's deadline, and the process goes on", async () => {
  const { client, processes } = await clients();
  const { processId } = await client.startDetached({ config: shell("sleep 300") });
  await expect(client.wait({ processId }, { timeoutMs: 100 })).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  expect(processes.get(processId)?.end).toBeUndefined();
});

test("output of a process that is not detached cannot be attached to; an unknown one is not found", async () => {
  const { client, process } = await clients();
  const events = process.start({ config: shell("sleep 300") })[Symbol.asyncIterator]();
  const processId = (await events.next()).value?.event.value.processId;
  await expect(words(client.attach({ processId }))).rejects.toMatchObject({ code: Code.FailedPrecondition });
  await expect(words(client.attach({ processId: 1 }))).rejects.toMatchObject({ code: Code.NotFound });
});

test("GetMetrics counts who runs and who reads, and what each session uses", async () => {
  const { client } = await clients();
  const config = shell("sleep 300 & sleep 300");
  const { processId } = await client.startDetached({ config });
  await client.startDetached({ config: shell("sleep 300"), pty: { cols: 80, rows: 24 } });
  const attached = client.attach({ processId })[Symbol.asyncIterator]().next();
  await eventually(async () => (await client.getMetrics({})).activity).toMatchObject({
    runningCommands: 1,
    runningTerminals: 1,
    attachedStreams: 1,
  });
  await eventually(async () => (await client.getMetrics({})).processes[0]).toMatchObject({
    processId,
    processCount: 3,
  });
  const { sandbox, processes } = await client.getMetrics({});
  expect(Number(sandbox?.memoryBytes)).toBeGreaterThan(0);
  expect(Number(processes[0]?.rssBytes)).toBeGreaterThan(0);
  await client.kill({ processId });
  await attached;
});

test("a request that is sent again starts nothing again", async () => {
  const { client, root } = await clients();
  const request = { config: shell(`echo run >> runs`, { cwd: root }), requestId: "a" };
  const [{ processId }, second] = await Promise.all([client.startDetached(request), client.startDetached(request)]);
  await client.wait({ processId });
  const third = await client.startDetached(request);
  expect([second.processId, third.processId]).toEqual([processId, processId]);
  const other = await client.startDetached({ ...request, requestId: "b" });
  await client.wait({ processId: other.processId });
  expect(readFileSync(join(root, "runs"), "utf8")).toBe("run\nrun\n");
});

test("a request that failed may be sent again", async () => {
  const { client, root } = await clients();
  const request = { config: { command: [join(root, "later")] }, requestId: "a" };
  await expect(client.startDetached(request)).rejects.toMatchObject({ code: Code.NotFound });
  writeFileSync(join(root, "later"), "#!/bin/sh\n", { mode: 0o755 });
  expect(await client.startDetached(request)).toMatchObject({ processId: expect.any(Number) });
});

test("lossless: a process waits for its reader, who loses nothing, not even by leaving for a while", async () => {
  const { client } = await clients();
  const config = shell("head -c 1000000 /dev/zero; echo end >&2");
  const { processId } = await client.startDetached({ config, lossless: true });
  let offset = 0;
  const take = async ({ event }: AttachResponse) => {
    if (event.case === "truncated") throw new Error(`lost before ${event.value.beforeOffset}`);
    if (event.case !== "output") return;
    offset = Number(event.value.offset) + (event.value.data.value as Uint8Array).length;
    await client.acknowledge({ processId, offset: BigInt(offset) });
  };
  for (let pieces = 0; offset < 200_000;) {
    for await (const event of client.attach({ processId, offset: BigInt(offset) })) {
      await take(event);
      if (++pieces % 3 === 0) break;
    }
  }
  for await (const event of client.attach({ processId, offset: BigInt(offset) })) await take(event);
  expect(offset).toBe(1_000_004);
});

test("lossless: what was sent and not acknowledged is there again", async () => {
  const { client } = await clients();
  const { processId } = await client.startDetached({ config: shell("head -c 500000 /dev/zero"), lossless: true });
  const stream = client.attach({ processId })[Symbol.asyncIterator]();
  for (let at = 0; at < 50_000;) {
    const { event } = (await stream.next()).value as AttachResponse;
    at += event.case === "output" ? (event.value.data.value as Uint8Array).length : 0;
  }
  const { value } = await client.attach({ processId })[Symbol.asyncIterator]().next();
  expect(word(value as AttachResponse)).toMatch(/^0:/);
});

test("Run starts and streams in one, and again the same for the same request", async () => {
  const { client } = await clients();
  const request = { config: shell("echo $$"), requestId: "a" };
  const first = await words(client.run(request));
  expect(first).toEqual(["started", expect.stringMatching(/^0:\d+\n$/), "exit:0"]);
  expect(await words(client.run(request))).toEqual(first);
});

test("Attach with the id of a request finds the process of that request alone", async () => {
  const { client } = await clients();
  const { processId } = await client.startDetached({ config: shell("echo a"), requestId: "a" });
  expect(await words(client.attach({ processId, requestId: "a" }))).toEqual(["0:a\n", "exit:0"]);
  await expect(words(client.attach({ processId, requestId: "b" }))).rejects.toMatchObject({ code: Code.NotFound });
});
