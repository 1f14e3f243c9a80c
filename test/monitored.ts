/**
 * The processes of hookbox, on an API server in memory, after what monitoring has to show: a claim, a wake, a refusal of
 * each kind. Hooks, keeper, binder, router, egress policy and the API for E2B's SDKs are real processes; the text of Metacontroller was recorded. @module
 */
import { Buffer } from "node:buffer";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freePorts } from "../dev/cluster/ports.ts";
import { apiKeyOf } from "../packages/api/e2b/identity.ts";
import { DEFAULT_SETTINGS, makeHooks } from "../hooks/all.ts";
import type { KubeObject } from "../packages/api/objects/objects.ts";
import { type Answer, type Api, pathOf, type WatchEvent } from "../packages/kube/api.ts";
import { listenOn } from "../packages/process/connections.ts";
import { createFakeClock } from "../packages/testing/clock.ts";
import { startFakeMetacontroller } from "../packages/testing/metacontroller/metacontroller.ts";
import { startPods } from "../packages/testing/pods.ts";
import { createMemoryServer } from "../packages/testing/server.ts";
import type { HookCalls } from "../packages/webhook/hook.ts";
import { faulty, nothing } from "./deploys/faulty.ts";
import { keysSecret } from "./e2b/keyssecret.ts";
import { until } from "./eventually.ts";
import { serveApi } from "./kube/servedapi.ts";
import { startMain } from "./mainprocess.ts";
import { fetchFrom } from "./router/client.ts";
import { startBackend } from "./router/stage.ts";
import { aReadyPod, aRequest, aSandbox } from "./sandboxes.ts";
import { makeTempFolder } from "./tempfolder.ts";
import { serve } from "./wiring/servedhooks.ts";

/** What Metacontroller 4.17.2 serves at /metrics after two claims: the metrics that deploy/monitoring reads, with the URLs of deploy/. */
export const METACONTROLLER_METRICS = readFileSync(new URL("metacontroller.prom", import.meta.url), "utf8");

/** A process to scrape: what the Prometheus operator would make of our monitors. */
export interface Target {
  job: string;
  namespace: string;
  port: number;
}

const NS = "team-a";
const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
const SYSTEM = "hookbox-system";
const object = (kind: string, name: string, spec: object, metadata: object = {}) => ({
  apiVersion: kind === "Sandbox" ? "agents.x-k8s.io/v1beta1" : EXTENSIONS,
  kind,
  metadata: { name, namespace: NS, ...metadata },
  spec,
});
const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };

/** Starts everything and brings about what is to be measured; it goes with the test. */
export async function startMonitored(): Promise<{ targets: Target[]; stopMetacontroller: () => Promise<void> }> {
  const world = await startWorld();
  const { server, put } = world;
  const [hooks, hookMetrics, keeper, binder, router, routerMetrics, egress, e2b, e2bHealth] = await freePorts(9);
  const port = (number = 0) => String(number);
  const local = ["--host", "127.0.0.1"];
  const ports = ["--port", port(hooks), "--metrics-port", port(hookMetrics)];
  await startMain("node", ["hooks/serve.ts", ...local, ...ports], "Listening");
  world.startMetacontroller(`http://127.0.0.1:${hooks}`);
  const kubeconfig = async (api: Api = server.connect()) =>
    (await serveApi({ ...server.connect(), ...api, endWatches: () => {} })).kubeconfig;
  const receiver = await startReceiver();
  const own = ["--namespace", SYSTEM];
  await Promise.all([
    startMain("node", [
      ...["packages/keeper/main.ts", "--no-binder", "--kubeconfig", await kubeconfig(), ...own, "--port", port(keeper)],
      ...receiver.flags,
    ], "Leading"),
    startMain(
      "node",
      ["packages/binder/main.ts", "--kubeconfig", await kubeconfig(), ...own, "--port", port(binder)],
      "Leading",
    ),
    startMain("node", [
      ...["packages/router/main.ts", "--kubeconfig", await kubeconfig(onLoopback(server.connect()))],
      ...["--port", port(router), "--metrics-bind-address", `127.0.0.1:${routerMetrics}`, "--allow-loopback-pod-ip"],
      ...["--idle-check-interval", "100ms"],
    ], "Serving"),
    startMain("node", [
      ...["packages/egress/main.ts", "--kubeconfig", await kubeconfig(), "--namespace", NS, "--port", port(egress)],
      ...["--socket", join(makeTempFolder(), "egress.sock")],
    ], "Starting"),
    startMain("node", [
      ...["packages/e2b/main.ts", "--kubeconfig", await kubeconfig(failing(server.connect())), "--port", port(e2b)],
      ...["--health-port", port(e2bHealth), "--secret-file", secretFile()],
    ], "Serving"),
  ]);

  await put(
    object("SandboxTemplate", "python", { podTemplate, networkPolicyManagement: "Unmanaged" }),
    // Somebody else's policy has the name that this template's needs.
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "open-network-policy", namespace: NS },
    },
    object("SandboxTemplate", "open", { podTemplate }),
    object("SandboxWarmPool", "python", { replicas: 4, sandboxTemplateRef: { name: "python" } }),
  );
  const status = (kind: string, name: string) => world.find(kind, name)?.["status"] as Status | undefined;
  await until(() => status("SandboxWarmPool", "python")?.readyReplicas === 4);
  await put(object("SandboxClaim", "session", { warmPoolRef: { name: "python" } }));
  await until(() => isReady(status("SandboxClaim", "session")));

  // One creation, and a list that fails.
  const [key, unlucky] = [NS, BROKEN].map((namespace) => apiKeyOf(namespace, Buffer.alloc(24)));
  const secretOf = (namespace: string, apiKey = "") => keysSecret(namespace, { main: { apiKey } });
  await put(secretOf(NS, key), secretOf(BROKEN, unlucky));
  const askE2B = async (apiKey = "", init: RequestInit = {}) =>
    (await fetch(`http://127.0.0.1:${e2b}/v2/sandboxes`, { ...init, headers: { "X-API-KEY": apiKey } })).status;
  await until(async () => await askE2B(key) === 200 && await askE2B(unlucky) === 500);
  const created = await askE2B(key, { method: "POST", body: '{"templateID":"python"}' });
  if (created !== 201) throw new Error(`Cannot go on: the API for E2B's SDKs answered ${created}`);

  const idle = { annotations: { "router.agents.x-k8s.io/idle-seconds": "1" } };
  await put(object("Sandbox", "idle", { podTemplate }, idle));
  await until(() => isReady(status("Sandbox", "idle")));
  const backend = await startBackend((_, answer) => answer.end("hello"));
  const ask = async (name: string, to: number, token = "ann") =>
    (await fetchFrom(router ?? 0, {
      headers: {
        ...{ "X-Sandbox-ID": name, "X-Sandbox-Namespace": NS, "X-Sandbox-Port": String(to) },
        Authorization: `Bearer ${token}`,
      },
    })).status;
  await until(() => world.find("Sandbox", "idle")?.["spec"].operatingMode === "Suspended");
  await until(() => world.find("Pod", "idle") === undefined);
  const [closed = 0] = await freePorts(1);
  const mine = world.find("SandboxClaim", "session")?.["status"].sandbox.name as string;
  const answers = [
    await ask("idle", backend.port),
    await ask("idle", backend.port, "eve"),
    await ask(mine, closed),
    await ask(mine, backend.port, "unknown"),
  ];
  if (String(answers) !== "200,403,502,500") throw new Error(`Cannot go on: the router answered ${answers}`);

  await put(object("Sandbox", "old", { podTemplate }));
  await until(() => isReady(status("Sandbox", "old")));
  const shutdownTime = new Date(Date.now() - 1000).toISOString();
  const path = pathOf({ resource: "sandboxes", namespace: NS, name: "old" });
  await server.connect().send({ method: "PATCH", path, body: { spec: { shutdownTime } } });

  const refusing = await serveHook(faulty(() => nothing)["sandbox"]!());
  // An answer without the Pod, and an error: the controller lacks rules for children.
  await refusing.ask({ controller: {}, ...aRequest(aSandbox(), [aReadyPod()]) }, 429);
  await refusing.ask({ controller: {}, ...aRequest(aSandbox()), children: { "Pod.v1": {} } }, 500);
  const [hook] = makeHooks(["sandbox"], DEFAULT_SETTINGS);
  const deferring = await serveHook(hook!, "--max-losses-per-minute", "0.001");
  const conditions = [{
    type: "Ready",
    status: "False",
    reason: "SandboxExpired",
    message: "",
    lastTransitionTime: shutdownTime,
  }];
  const over = aSandbox({ spec: { shutdownTime }, status: { conditions } });
  await deferring.ask({ controller: {}, ...aRequest(over, [aReadyPod()]) }, 200);

  const metacontroller = await serveText(METACONTROLLER_METRICS);
  const targets = [
    { job: "sandbox", namespace: SYSTEM, port: refusing.metrics },
    { job: "sandboxtemplate", namespace: SYSTEM, port: deferring.metrics },
    ...["sandboxclaim", "sandboxwarmpool"].map((job) => ({
      ...{ job, namespace: SYSTEM, port: hookMetrics ?? 0 },
    })),
    { job: "hookbox-keeper", namespace: SYSTEM, port: keeper ?? 0 },
    { job: "hookbox-binder", namespace: SYSTEM, port: binder ?? 0 },
    { job: `${SYSTEM}/hookbox-router`, namespace: "agent-sandbox-system", port: routerMetrics ?? 0 },
    { job: `${SYSTEM}/hookbox-e2b`, namespace: "agent-sandbox-system", port: e2bHealth ?? 0 },
    { job: `${SYSTEM}/hookbox-egress`, namespace: NS, port: egress ?? 0 },
    { job: `${SYSTEM}/hookbox-metacontroller`, namespace: "metacontroller", port: metacontroller.port },
  ];
  return { targets, stopMetacontroller: metacontroller.stop };
}

interface Status {
  readyReplicas?: number;
  conditions?: { type: string; status: string }[];
}

function isReady(status: Status | undefined): boolean {
  return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

// deno-lint-ignore no-explicit-any -- tests look where they like
type Loose = KubeObject & Record<string, any>;

/** An API server in memory on this machine's clock, with nodes; nothing can create the policy of one template. */
async function startWorld() {
  const clock = createFakeClock(Date.now());
  const server = await createMemoryServer({ clock, namespaces: [NS, SYSTEM, BROKEN] });
  const { store } = server;
  const ticking = setInterval(() => void clock.advance(Math.max(0, Date.now() - clock.now())), 20);
  onTestFinished(() => clearInterval(ticking));
  await startPods(store, {});
  return {
    server,
    put: (...objects: object[]) => Promise.all(objects.map((each) => store.put(each as KubeObject))),
    find: (kind: string, name: string) =>
      ["v1", EXTENSIONS, "agents.x-k8s.io/v1beta1"].flatMap((version) => {
        try {
          return store.objects(version, kind);
        } catch {
          return [];
        }
      }).find(({ metadata }) => metadata.name === name) as Loose | undefined,
    startMetacontroller(hooksURL: string) {
      const call = (url: string, init: RequestInit) => {
        const { hostname, pathname } = new URL(url);
        return fetch(`${hooksURL}/${hostname.split(".")[0]}${pathname.slice(pathname.lastIndexOf("/"))}`, init);
      };
      const metacontroller = startFakeMetacontroller({ store, fetch: call });
      onTestFinished(() => metacontroller.stop());
    },
  };
}

/** Namespace whose claims nobody can list. */
const BROKEN = "team-broken";

/** An API server that fails in the namespace `team-broken`. */
function failing<A extends Api>(api: A): A {
  const fails = ({ path }: { path: string }) => path.includes(`/namespaces/${BROKEN}/sandboxclaims`);
  return {
    ...api,
    send: async (request) =>
      fails(request) ? { status: 500, body: { message: "etcd has no leader" } } : await api.send(request),
  };
}

/** Writes a file with the secret of the API for E2B's SDKs; it goes with the test. */
function secretFile(): string {
  const file = join(makeTempFolder(), "secret");
  writeFileSync(file, "0123456789abcdef0123456789abcdef");
  return file;
}

/** The API of a router whose Pods are on this machine, and which knows what Ann may do, and of nobody else. */
function onLoopback<A extends Api>(api: A): A {
  const moved = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value ?? null).replaceAll(/"10\.0\.\d+\.\d+"/g, '"127.0.0.1"'));
  const reviewed = (path: string, body: unknown): Answer | undefined => {
    if (!path.endsWith("reviews")) return undefined;
    const { spec } = body as { spec: { token?: string; user?: string } };
    if (spec.token === "unknown") return { status: 500, body: { message: "the webhook for tokens is down" } };
    const status = spec.token === undefined
      ? { allowed: spec.user === "ann" }
      : { authenticated: true, user: { username: spec.token } };
    return { status: 201, body: { status } };
  };
  return {
    ...api,
    send: async (request) => reviewed(request.path, request.body) ?? moved(await api.send(request)),
    async watch(path, query, signal) {
      const { events, ...answer } = await api.watch(path, query, signal);
      return {
        ...answer,
        events: (async function* (): AsyncGenerator<WatchEvent> {
          for await (const event of events) yield moved(event);
        })(),
      };
    },
  };
}

/** A receiver of CloudEvents that refuses the second one; flags of the keeper that sends there. */
async function startReceiver() {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume().once("end", () => response.writeHead(count++ === 1 ? 400 : 204).end());
  });
  const port = await listenOn(server, "127.0.0.1", 0);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const file = join(makeTempFolder(), "secret");
  writeFileSync(file, `whsec_${Buffer.from("a".repeat(32)).toString("base64")}`);
  return { flags: ["--cloudevents-url", `http://127.0.0.1:${port}`, "--cloudevents-secret-file", file] };
}

/** Serves one hook with its metrics, in this process. @returns what asks it, and throws unless it answers with a status */
async function serveHook(hook: HookCalls, ...flags: string[]) {
  const [port = 0, metrics = 0] = await freePorts(2);
  await serve([hook], true, "--port", String(port), "--metrics-port", String(metrics), ...flags);
  return {
    metrics,
    async ask(request: object, status: number): Promise<void> {
      const answer = await fetch(`http://127.0.0.1:${port}/sync`, { method: "POST", body: JSON.stringify(request) });
      if (answer.status !== status) throw new Error(`Cannot go on: the hook answered ${answer.status}, not ${status}`);
    },
  };
}

async function serveText(text: string): Promise<{ port: number; stop: () => Promise<void> }> {
  const server = createServer((_, answer) => answer.setHeader("Content-Type", "text/plain; version=0.0.4").end(text));
  const port = await listenOn(server, "127.0.0.1", 0);
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(stop);
  return { port, stop };
}
