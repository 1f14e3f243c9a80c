/** Connections to a runtime that ask for nothing: nobody is asked for a token before, and they keep nobody else out. @module */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { requestActivity } from "../../packages/router/idle/activity.ts";
import { MOST_WAITING } from "../../packages/runtime/listen.ts";
import { eventually } from "../eventually.ts";
import { makeRoot } from "./folders.ts";
import { send, startTestRuntime } from "./servers.ts";

/** Opens so many connections, one after the other. */
async function openMany(port: number, count: number): Promise<Socket[]> {
  const open: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    open.push(socket);
    await once(socket, "connect");
  }
  onTestFinished(() => open.forEach((socket) => void socket.destroy()));
  return open;
}

test("each port keeps so many, and ends the oldest for a new one", async () => {
  const runtime = await startTestRuntime((await makeRoot()).root.path);
  onTestFinished(runtime.stop);
  for (const port of [runtime.port, runtime.restPort, runtime.grpcPort, runtime.envdPort ?? 0]) {
    const [oldest, ...others] = await openMany(port, MOST_WAITING);
    const ended = new Promise((resolve) => oldest!.once("close", resolve));
    await openMany(port, 1);
    await ended;
    expect(others.filter(({ closed }) => closed)).toEqual([]);
  }
});

test("a command goes on, and a router learns what the sandbox does, even if others hold all places", async () => {
  const { root } = await makeRoot();
  const runtime = await startTestRuntime(root.path);
  onTestFinished(runtime.stop);
  const body = JSON.stringify({ command: "sh -c 'until [ -e go ]; do sleep 0.02; done; echo done'" });
  const running = send(runtime.port, "POST", "/execute", { body });
  const said = () => requestActivity("127.0.0.1", runtime.restPort);
  await eventually(said).toMatchObject({ reported: { running: 1 } });
  await openMany(runtime.port, MOST_WAITING + 10);
  await openMany(runtime.restPort, MOST_WAITING + 10);
  expect(await said()).toMatchObject({ reported: { running: 1 } });
  await send(runtime.restPort, "PUT", "/v1/files/go", { body: "" });
  expect(JSON.parse((await running).text)).toMatchObject({ stdout: "done\n", exit_code: 0 });
});
