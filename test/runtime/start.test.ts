/** startRuntime() and main.ts: ports, and a stop that cuts nothing and leaves nothing. @module */
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { makeRoot } from "./folders.ts";
import { startMain } from "../mainprocess.ts";
import { send, startTestRuntime } from "./servers.ts";
import { eventually } from "../eventually.ts";
import { FREE_PORTS } from "./freeports.ts";

const json = (value: unknown) => ({ body: JSON.stringify(value) });

test("a stop lets running requests end, says 503 while it waits, and refuses new ones", async () => {
  const { root, at } = await makeRoot();
  const runtime = await startTestRuntime(root.path, "--shutdown-timeout", "60s");
  const running = send(
    runtime.port,
    "POST",
    "/execute",
    json({ command: "sh -c 'touch begun; until [ -e go ]; do sleep 0.02; done; echo done'" }),
  );
  await eventually(async () => (await send(runtime.restPort, "HEAD", "/v1/files/begun")).status).toBe(200);
  const stopped = runtime.stop();
  const health = await send(runtime.restPort, "GET", "/v1/health");
  expect([health.status, JSON.parse(health.text)]).toMatchObject([503, { status: "stopping", code: "UNAVAILABLE" }]);
  const file = await send(runtime.restPort, "GET", "/v1/files/begun");
  expect([file.status, JSON.parse(file.text).code]).toEqual([503, "UNAVAILABLE"]);
  expect((await send(runtime.port, "POST", "/execute", json({ command: "true" }))).status).toBe(503);
  writeFileSync(at("go"), "");
  expect(JSON.parse((await running).text)).toMatchObject({ stdout: "done\n", exit_code: 0 });
  await stopped;
  await expect(send(runtime.restPort, "GET", "/v1/health")).rejects.toThrow("ECONNREFUSED");
});

test("a stop kills what does not end in time, children and all, and still answers", async () => {
  const { root } = await makeRoot();
  const runtime = await startTestRuntime(root.path, "--shutdown-timeout", "200ms");
  const command = "sh -c 'touch begun; sleep 62.5 & sleep 62.5'";
  const running = send(runtime.port, "POST", "/execute", json({ command }));
  await eventually(async () => (await send(runtime.restPort, "HEAD", "/v1/files/begun")).status).toBe(200);
  await runtime.stop();
  expect(JSON.parse((await running).text)).toMatchObject({ exit_code: -1 });
  await eventually(() => spawnSync("pgrep", ["-f", "sleep 62.5"]).status).toBe(1);
});

test("a port that is taken is an error, and nothing is left listening", async () => {
  const { root } = await makeRoot();
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  await expect(startTestRuntime(root.path, "--rest-port", `${port}`)).rejects.toThrow("EADDRINUSE");
});

test("processes can be called on 9090 by gRPC and on 8080 by Connect, in the same sandbox", async () => {
  const { root } = await makeRoot();
  const runtime = await startTestRuntime(root.path);
  onTestFinished(() => runtime.stop());
  const transports = [
    createGrpcTransport({ baseUrl: `http://127.0.0.1:${runtime.grpcPort}` }),
    createConnectTransport({ baseUrl: `http://127.0.0.1:${runtime.restPort}`, httpVersion: "1.1" }),
    createGrpcWebTransport({ baseUrl: `http://127.0.0.1:${runtime.restPort}`, httpVersion: "1.1" }),
  ];
  for (const transport of transports) {
    const client = createClient(ProcessService, transport);
    const { stdout } = await client.execute({ config: { command: ["pwd"] } });
    expect(new TextDecoder().decode(stdout)).toBe(`${root.path}\n`);
  }
});

test("main.ts listens, and ends with 0 on SIGTERM", async () => {
  const { root } = await makeRoot();
  const ports = ["--host", "127.0.0.1", ...FREE_PORTS];
  const { said, stop } = await startMain(
    "node",
    ["packages/runtime/main.ts", "--root", root.path, ...ports],
    "Listening",
  );
  const [{ port, restPort }] = said("Listening") as [{ port: number; restPort: number }];
  expect((await send(restPort, "GET", "/v1/health")).status).toBe(200);
  expect((await send(port, "GET", "/")).status).toBe(200);
  expect(await stop()).toBe(0);
});

test("main.ts says what is wrong with its arguments in one line", () => {
  const main = new URL("../../packages/runtime/main.ts", import.meta.url).pathname;
  const run = () => execFileSync("node", [main, "--port", "x"], { encoding: "utf8", stdio: "pipe" });
  expect(run).toThrow(
    expect.objectContaining({ status: 2, stderr: expect.stringMatching(/^Cannot use --port "x": .*\n$/) }),
  );
  expect(execFileSync("node", [main, "--help"], { encoding: "utf8" })).toMatch(/^Usage: hookbox runtime/);
});
