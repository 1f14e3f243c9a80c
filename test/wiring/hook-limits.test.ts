/** A hook put together with its real flags: the limits that nobody sets. @module */
import { request as httpRequest } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import { createHookApp } from "../../packages/webhook/app.ts";
import type { HookCalls } from "../../packages/webhook/hook.ts";
import { settingsOf } from "../hooksettings.ts";
import { serveHooks } from "../../packages/webhook/runhook.ts";
import { until } from "../eventually.ts";
import { aPool } from "../pools.ts";
import { send } from "../runtime/servers.ts";

const hook: HookCalls = { name: "plain", sync: () => ({ answer: {}, losses: [], held: [] }) };
const SYNC = { body: "{}" };
const post = (body: BodyInit) =>
  new Request("http://hook/sync", { method: "POST", body, duplex: "half" } as RequestInit);

async function serve() {
  const settings = settingsOf("--host", "127.0.0.1", "--port", "0", "--log-level", "error");
  // A client that breaks off in the middle of a body is logged.
  const written = vi.spyOn(console, "error").mockImplementation(() => {});
  const server = await serveHooks([hook], settings, true);
  onTestFinished(() => server.stop().then(() => written.mockRestore()));
  return server;
}

test("a thousand requests at once are answered, behind 300 sockets that stall in the middle of a body", async () => {
  const { port } = await serve();
  for (let i = 0; i < 300; i++) {
    const headers = { "Content-Length": 1000 };
    const stalled = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/sync", headers, agent: false });
    stalled.on("error", () => {}).write("{");
    onTestFinished(() => void stalled.destroy());
  }
  const answers = await Promise.all(Array.from({ length: 1000 }, () => send(port, "POST", "/sync", SYNC)));
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
});

test("of eight bodies of 30 MB that stall before their end, those are refused for which there is no room", async () => {
  const { port } = await serve();
  const half = new Uint8Array(30_000_000);
  const statuses: (number | undefined)[] = [];
  for (let i = 0; i < 8; i++) {
    const headers = { "Content-Length": half.length + 1 };
    const stalled = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/sync", headers, agent: false });
    stalled.on("error", () => {}).on("response", ({ statusCode }) => statuses.push(statusCode)).write(half);
    onTestFinished(() => void stalled.destroy());
  }
  // On a busy machine the other two may be given up by then.
  const refused = () => statuses.filter((status) => status === 429).length;
  await until(() => refused() >= 6);
  expect(refused()).toBe(6);
  expect((await send(port, "POST", "/sync", SYNC)).status, "a small one has room").toBe(200);
});

test("a request is given up before Metacontroller gives it up, which is after ten seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const app = createHookApp(hook, { log: () => {} });
  let status: number | undefined;
  const asked = Promise.resolve(app.request(post(new ReadableStream()))).then((answer) => status = answer.status);
  await vi.advanceTimersByTimeAsync(7900);
  expect(status).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1100);
  expect(await asked).toBe(504);
});

test("a body of more than 36 MiB is refused by its length alone", async () => {
  const { port } = await serve();
  const statusOf = (bytes: number) =>
    new Promise<number>((resolve, reject) => {
      const headers = { "Content-Length": bytes, Expect: "100-continue" };
      const asked = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/sync", headers, agent: false });
      asked.on("error", reject).on("response", ({ statusCode = 0 }) => resolve(statusCode)).flushHeaders();
      onTestFinished(() => void asked.destroy());
      if (bytes < 1000) asked.once("continue", () => asked.end("x".repeat(bytes)));
    });
  expect(await statusOf((36 << 20) + 1)).toBe(413);
  expect(await statusOf(1), "which is no JSON").toBe(400);
});

/** A pool's request with its members' Sandboxes, as Metacontroller sends it. */
function poolRequest(members: number, podSpec: object, more: object = {}): string {
  const metadata = (name: string) => ({ name, namespace: "team-a", uid: `uid-${name}`, generation: 1, ...more });
  const spec = { podTemplate: { metadata: {}, spec: podSpec }, operatingMode: "Running", shutdownPolicy: "Retain" };
  const sandbox = (name: string) => ({
    ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", spec },
    metadata: {
      ...metadata(name),
      creationTimestamp: "2026-11-25T21:00:00Z",
      labels: { "controller-uid": "uid-warm" },
    },
    status: { conditions: CONDITIONS, podIPs: ["10.1.0.7"], nodeName: "node", service: name },
  });
  const names = Array.from({ length: members }, (_, at) => `warm-${at}`);
  return JSON.stringify({
    controller: {},
    parent: aPool({ spec: { replicas: members } }),
    children: {
      "Sandbox.agents.x-k8s.io/v1beta1": Object.fromEntries(names.map((it) => [`team-a/${it}`, sandbox(it)])),
    },
    related: { "SandboxTemplate.extensions.agents.x-k8s.io/v1beta1": {} },
    finalizing: false,
  });
}

const CONDITIONS = ["Ready", "PodReady", "ServiceReady"].map((type) => ({
  ...{ type, status: "True", reason: "DependenciesReady", message: "Pod is Ready; Service exists" },
  ...{ lastTransitionTime: "2026-11-25T21:00:00Z", observedGeneration: 1 },
}));
const env = Array.from({ length: 40 }, (_, at) => ({ name: `VARIABLE_${at}`, value: `${at}, {x}, [y], and so on` }));
const podSpec = {
  containers: [{ name: "main", image: "registry.example.com/image", env, ports: [{ containerPort: 8080 }] }],
};
const fieldsV1 = Object.fromEntries(
  env.map(({ name }) => [`k:{"name":"${name}"}`, { ".": {}, "f:name": {}, "f:value": {} }]),
);
const applied = {
  annotations: { [LAST_APPLIED_ANNOTATION]: JSON.stringify({ spec: { podTemplate: { spec: podSpec } } }) },
};
const POOLS = [
  { name: "plain members", podSpec, more: applied },
  { name: "members with a long text", podSpec, more: { annotations: { note: "{a}, [b], c; ".repeat(700) } } },
  { name: "members with managedFields", podSpec, more: { ...applied, managedFields: [{ manager: "m", fieldsV1 }] } },
  {
    name: "members whose text is not all ASCII",
    podSpec,
    more: { annotations: { ...applied.annotations, note: "é日" } },
  },
];
test.for(POOLS)("a pool of 1,000 $name is answered", async ({ podSpec, more }) => {
  const body = poolRequest(1000, podSpec, more);
  expect(body.length).toBeGreaterThan(6_000_000);
  expect((await createHookApp(hook, { log: () => {} }).request(post(body))).status).toBe(200);
});

test("a pool with 20 members of 1.4 MB that are nothing but empty objects is refused, and not parsed", async () => {
  const tolerations = Array(466_000).fill({});
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  const bodies = [1, 20].map((members) => poolRequest(members, { containers: [{ name: "a" }], tolerations }));
  for (const body of bodies) {
    const answer = await createHookApp(hook, { log: () => {} }).request(post(body));
    expect([answer.status, await answer.text()]).toEqual([
      413,
      expect.stringMatching(/"body is too large( with|")|items/),
    ]);
  }
  expect(parse).not.toHaveBeenCalled();
});
