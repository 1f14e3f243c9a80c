import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { createFakeApi } from "../kube/fakeapi.ts";
import { fetchFrom } from "./client.ts";
import { naming, putPod, putReady, putSandbox, startBackend, textOf } from "./stage.ts";
import { until } from "../eventually.ts";
import { makeTempFolder } from "../tempfolder.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const NODE = ["node_modules/.bin/node", "router/main.ts"];

/** An API server in memory behind a real port; returns the kubeconfig that leads there. */
async function serveApi(folder: string) {
  const api = createFakeApi();
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "", "http://api");
    const query = Object.fromEntries(url.searchParams);
    if (query["watch"]) {
      const { events } = await api.watch(url.pathname, query);
      response.writeHead(200).flushHeaders();
      for await (const event of events) response.write(`${JSON.stringify(event)}\n`);
      return void response.end();
    }
    const text = await textOf(request);
    const method = request.method as "GET";
    const answer = await api.send({ method, path: url.pathname, query, ...(text ? { body: JSON.parse(text) } : {}) });
    response.writeHead(answer.status, { "Content-Type": "application/json" }).end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    api.endWatches();
    server.closeAllConnections();
    server.close();
  });
  const kubeconfig = join(folder, "kubeconfig");
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: address } }],
      users: [{ name: "u", user: { token: "t" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  return { api, kubeconfig };
}

async function startProcess([command = "", ...args]: string[]) {
  const folder = makeTempFolder();
  const { api, kubeconfig } = await serveApi(folder);
  putReady(api);
  const flags = ["--kubeconfig", kubeconfig, "--port", "0", "--authz-mode", "allow-all", "--allow-loopback-pod-ip"];
  const env = { ...process.env, NO_COLOR: "1" };
  const child: ChildProcess = spawn(command, [...args, ...flags], {
    cwd: ROOT,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [log, lines] = ["", ""];
  child.stderr?.on("data", (chunk) => log += chunk);
  child.stdout?.on("data", (chunk) => lines += chunk);
  const portOf = () => /"message":"Serving","host":"127.0.0.1","port":(\d+)/.exec(log)?.[1];
  await until(() => portOf() !== undefined || child.exitCode !== null);
  expect(portOf(), log).toBeDefined();
  return { api, child, port: Number(portOf()), lines: () => lines };
}

const PROCESSES: [string, string[]][] = [
  ["Node", NODE],
  [
    "Deno with what docs/router.md lists",
    [
      "node_modules/.bin/deno",
      "run",
      "--quiet",
      "--allow-net",
      "--allow-read",
      "--allow-sys=hostname",
      "--allow-env=LOG_TOKENS,LOG_STREAM,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT",
      "router/main.ts",
    ],
  ],
];

test.for(PROCESSES)("the router as a process, on %s", async ([, command]) => {
  const { api, child, port, lines } = await startProcess(command);
  const backend = await startBackend((incoming, answer) => void incoming.pipe(answer));
  const sockets = new WebSocketServer({ server: backend.server });
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`echo ${data}`)));
  const headers = naming(backend.port);
  const body = "x".repeat(300_000);
  expect((await fetchFrom(port, { method: "POST", headers }, body)).text === body, "the body comes back").toBe(true);
  expect(await fetchFrom(port, { headers: naming(1, "nobody") })).toMatchObject({ status: 404 });
  putSandbox(api, "other", { spec: { operatingMode: "Suspended" } });
  const woken = fetchFrom(port, { method: "POST", headers: naming(backend.port, "other") }, "wake");
  await until(() => api.requests.some(({ method }) => method === "PATCH"));
  putPod(api, "other");
  expect(await woken).toMatchObject({ status: 200, text: "wake" });
  const client = new WebSocket(`ws://127.0.0.1:${port}/`, { headers });
  const said = new Promise((resolve) => client.once("message", (data) => resolve(String(data))));
  client.once("open", () => client.send("hi"));
  expect(await said).toBe("echo hi");
  client.close();
  child.kill("SIGTERM");
  await until(() => child.exitCode !== null);
  expect(child.exitCode).toBe(0);
  expect(lines()).toContain('"message":"Request"');
});
