/** The runtime put together with its real flags: what they limit and show, and what a stop ends. @module */
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Buffer } from "node:buffer";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { pack } from "tar-stream";
import { WebSocket } from "ws";
import { ContextsService } from "../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { ProcessesService } from "../../packages/runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { startMain } from "../mainprocess.ts";
import { eventually } from "../eventually.ts";
import { makeRoot } from "../runtime/folders.ts";
import { formOf, send, sendTo, startTestRuntime } from "../runtime/servers.ts";
import { FREE_PORTS } from "../runtime/freeports.ts";

const TOKEN = "of-team-a";

async function start(...flags: string[]) {
  const made = await makeRoot();
  const runtime = await startTestRuntime(made.root.path, ...flags);
  onTestFinished(() => runtime.stop());
  const { port, restPort, grpcPort } = runtime;
  const execute = async (command: string, more: object = {}) =>
    JSON.parse((await send(port, "POST", "/execute", { body: JSON.stringify({ command, ...more }) })).text);
  return { ...made, runtime, port, restPort, grpcPort, execute };
}

const grpc = (port: number) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
const sh = (script: string) => ({ command: ["/bin/sh", "-c", script] });

/** Asks for a terminal: `refused` resolves with a status, `closed` when it has ended. */
function terminal(port: number, command: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/terminal?${new URLSearchParams({ command })}`);
  onTestFinished(() => socket.terminate());
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()).on("error", () => {}));
  const refused = new Promise<number | undefined>((resolve) =>
    socket.on("unexpected-response", (_, answer) => resolve(answer.statusCode)).on("open", () => resolve(undefined))
  );
  return { closed, refused };
}

/** Whether there is still a process of that id. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("--max-upload limits files, forms and tars", async () => {
  const { port, restPort, at } = await start("--max-upload", "100");
  const body = "x".repeat(101);
  const tar = pack();
  tar.entry({ name: "c" }, body);
  tar.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of tar as AsyncIterable<Uint8Array>) chunks.push(chunk);
  const statuses = [
    (await send(restPort, "PUT", "/v1/files/a", { body })).status,
    (await send(port, "POST", "/upload", formOf("b", body))).status,
    (await send(restPort, "PUT", "/v1/archive/", { body: Buffer.concat(chunks) })).status,
  ];
  expect(statuses).toEqual([413, 413, 413]);
  expect(["a", "b", "c"].filter((name) => existsSync(at(name)))).toEqual([]);
  expect((await send(restPort, "PUT", "/v1/files/a", { body: body.slice(1) })).status).toBe(204);
});

test("--max-output limits what is kept of a command, for every client", async () => {
  const { execute, grpcPort } = await start("--max-output", "10");
  const script = "printf %020d 1; printf %020d 2 >&2";
  expect(await execute(`sh -c '${script}'`)).toMatchObject({ stdout: "0".repeat(10), truncated: true });
  const calling = createClient(ProcessService, grpc(grpcPort)).execute({ config: sh(script) });
  await expect(calling).rejects.toThrow("it is over 10 bytes on a stream");
});

test("--exec-timeout ends a command that names no limit of its own", async () => {
  const { execute } = await start("--exec-timeout", "50ms");
  expect(await execute("sleep 60")).toMatchObject({ timed_out: true });
  expect(await execute("sh -c 'sleep 0.2; echo in time'", { timeout_seconds: 20 })).toMatchObject({
    stdout: "in time\n",
  });
});

test("--metadata-env-prefix says which variables are shown", async () => {
  process.env["WIRING_SHOWN"] = "1";
  onTestFinished(() => void delete process.env["WIRING_SHOWN"]);
  const [{ restPort }, other] = [await start("--metadata-env-prefix", "WIRING_"), await start()];
  const shown = async (port: number) => JSON.parse((await send(port, "GET", "/v1/metadata")).text).env;
  expect(await shown(restPort)).toEqual({ WIRING_SHOWN: "1" });
  expect(await shown(other.restPort)).not.toHaveProperty("WIRING_SHOWN");
});

describe("what runs and what is delivered late", () => {
  test("is the same on every port: a process of one is seen on the others, and counts as activity", async () => {
    const { runtime, restPort, grpcPort, execute } = await start("--shutdown-timeout", "0");
    const client = createClient(ProcessesService, grpc(grpcPort));
    const { processId } = await client.startDetached({ config: sh("sleep 60") });
    const sent = { body: "{}", headers: { "Content-Type": "application/json" } };
    const listed = await send(restPort, "POST", "/hookbox.runtime.v1.ProcessesService/List", sent);
    expect(JSON.parse(listed.text).processes).toMatchObject([{ processId, detached: true }]);
    const activity = await send(restPort, "GET", "/v1/activity");
    expect(JSON.parse(activity.text)).toMatchObject({ running: 1, idleSeconds: 0 });
    expect((await execute(`kill -0 ${processId}`)).exit_code).toBe(0);
    await runtime.stop();
    await eventually(() => isAlive(processId)).toBe(false);
  });

  test("is so for code, too: it has what was delivered, counts as activity, and ends with the runtime", async () => {
    const { around } = await makeRoot();
    writeFileSync(`${around}/token`, TOKEN);
    const { runtime, restPort, grpcPort } = await start("--shutdown-timeout", "0", "--token-file", `${around}/token`);
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const delivery = JSON.stringify({ env: { LATE: "delivered" } });
    expect((await send(restPort, "POST", "/v1/bind", { headers, body: delivery })).status).toBe(200);
    const code = "console.log(process.pid, process.env.LATE); await new Promise(() => {})";
    const running = createClient(ContextsService, grpc(grpcPort)).runCode({ language: "javascript", code }, {
      headers,
    });
    const events = running[Symbol.asyncIterator]();
    const { value } = await events.next();
    const [, pid, late] = /^(\d+) (.*)\n$/.exec(value?.event.value as string) ?? [];
    expect(late).toBe("delivered");
    expect(JSON.parse((await send(restPort, "GET", "/v1/activity")).text)).toMatchObject({ idleSeconds: 0 });
    await runtime.stop();
    await events.next().catch(() => {});
    await eventually(() => isAlive(Number(pid))).toBe(false);
  });
});

test("--host is where all ports listen, and nowhere else", async () => {
  const { port, restPort, grpcPort } = await start();
  for (const one of [port, restPort, grpcPort]) {
    expect((await send(one, "GET", "/v1/health")).status).not.toBe(0);
    await expect(sendTo("127.0.0.2", one, "GET", "/v1/health")).rejects.toThrow(/ECONNREFUSED|EADDRNOTAVAIL/);
  }
});

describe("a stop", () => {
  test("begins nothing more on any port while it waits for what runs", async () => {
    const { runtime, port, restPort, grpcPort, at } = await start("--shutdown-timeout", "20s");
    const command = "sh -c 'mkfifo gate; cat gate; ls'";
    const running = send(port, "POST", "/execute", { body: JSON.stringify({ command }) });
    await eventually(() => existsSync(at("gate"))).toBe(true);
    const stopped = runtime.stop();
    const [late, headers] = [{ config: sh("touch late") }, { "Content-Type": "application/json" }];
    const body = JSON.stringify(late);
    const call = "/process.v1.ProcessService/Execute";
    const statuses = [
      (await send(port, "POST", "/execute", { body: JSON.stringify({ command: "touch late" }) })).status,
      (await send(restPort, "PUT", "/v1/files/late", { body: "x" })).status,
      (await send(restPort, "POST", call, { body, headers })).status,
      (await send(grpcPort, "POST", call, { body, headers })).status,
      await terminal(restPort, "touch late").refused,
    ];
    expect(statuses).toEqual([503, 503, 503, 503, 503]);
    await expect(createClient(ProcessService, grpc(grpcPort)).execute(late)).rejects.toMatchObject({
      code: Code.Unavailable,
    });
    writeFileSync(at("gate"), "open\n");
    expect(JSON.parse((await running).text)).toMatchObject({ stdout: "open\ngate\n" });
    await stopped;
  });

  test("by SIGTERM ends terminals and detached processes with all that they have started, and main.ts with 0", async () => {
    const { root, at } = await makeRoot();
    const ports = ["--host", "127.0.0.1", ...FREE_PORTS];
    const args = ["packages/runtime/main.ts", "--root", root.path, ...ports, "--shutdown-timeout", "0"];
    const { said, stop } = await startMain("node", args, "Listening");
    const [{ restPort, grpcPort }] = said("Listening") as [{ restPort: number; grpcPort: number }];
    const open = terminal(restPort, "sleep 60 & echo $! > of-terminal; wait");
    await createClient(ProcessesService, grpc(grpcPort)).startDetached({
      config: sh("sleep 60 & echo $! > detached; wait"),
    });
    const pidIn = (name: string) => existsSync(at(name)) ? Number(readFileSync(at(name), "utf8")) : 0;
    await eventually(() => pidIn("of-terminal") * pidIn("detached")).toBeGreaterThan(0);
    expect(await stop()).toBe(0);
    await open.closed;
    await eventually(() => [isAlive(pidIn("of-terminal")), isAlive(pidIn("detached"))]).toEqual([false, false]);
  });
});
