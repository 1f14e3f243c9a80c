import { expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { serveApi } from "../kube/servedapi.ts";
import { startMain } from "../mainprocess.ts";
import { fetchFrom } from "./client.ts";
import { naming, putPod, putReady, putSandbox, startBackend } from "./stage.ts";
import { until } from "../eventually.ts";

const PROCESSES: [string, "node" | "deno", string[]][] = [
  ["Node", "node", ["packages/router/main.ts"]],
  [
    "Deno with what docs/router.md lists",
    "deno",
    [
      "run",
      "--quiet",
      "--allow-net",
      "--allow-read",
      "--allow-sys=hostname",
      "--allow-env=LOG_TOKENS,LOG_STREAM,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,WS_NO_BUFFER_UTIL,WS_NO_UTF_8_VALIDATE",
      "packages/router/main.ts",
    ],
  ],
];

test.for(PROCESSES)("the router as a process, on %s", async ([, runtime, args]) => {
  const { api, kubeconfig } = await serveApi(undefined, "router");
  putReady(api);
  const flags = ["--kubeconfig", kubeconfig, "--port", "0", "--authz-mode", "allow-all", "--allow-loopback-pod-ip"];
  const router = await startMain(runtime, [...args, ...flags], "Serving");
  const [{ host, port }] = router.said("Serving") as [{ host: string; port: number }];
  expect(host).toBe("127.0.0.1");
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
  expect(await router.stop()).toBe(0);
  expect(router.output()).toContain('"message":"Request"');
});
