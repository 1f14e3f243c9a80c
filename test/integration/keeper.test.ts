/**
 * The keeper as a process, killed and started again, on a real API server of its own: no hook, no Metacontroller, no
 * node; the test plays their parts. It has the rights of keeper/rbac.yaml and no others. @module
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { type Api, pathOf } from "../../keeper/api.ts";
import { connect } from "../../keeper/connection.ts";
import { type Credentials, kubeconfigCredentials } from "../../keeper/credentials.ts";
import { LAST_APPLIED_ANNOTATION } from "../../lib/apply.ts";
import { type ApiProxy, startApiProxy } from "./apiproxy.ts";
import { attempt, run, until } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { type Child, startChild } from "./processes.ts";

const SYSTEM = "hookbox-system";
const ACCOUNT = `system:serviceaccount:${SYSTEM}:keeper`;
const folder = mkdtempSync(join(tmpdir(), "hookbox-keeper-"));
const end = new AbortController();
const path = (relative: string) => fileURLToPath(new URL(`../../${relative}`, import.meta.url));

let cluster: Cluster;
let admin: Api;
let credentials: Credentials;
let token: string;
let proxy: ApiProxy;
let namespace: string;
let number = 0;
const keepers: Child[] = [];

beforeAll(async () => {
  cluster = await startCluster({ stateDir: join(folder, "cluster"), nodes: "none" });
  await run(cluster, ["apply", "--server-side", "-f", path("crds")]);
  await run(cluster, ["wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"]);
  await run(cluster, ["create", "namespace", SYSTEM]);
  await run(cluster, ["-n", SYSTEM, "create", "serviceaccount", "keeper"]);
  await run(cluster, ["-n", SYSTEM, "apply", "-f", path("keeper/rbac.yaml")]);
  const account = `--serviceaccount=${SYSTEM}:keeper`;
  await run(cluster, ["create", "clusterrolebinding", "keeper", "--clusterrole=hookbox-keeper", account]);
  await run(cluster, ["-n", SYSTEM, "create", "rolebinding", "keeper", "--role=hookbox-keeper", account]);
  token = (await run(cluster, ["-n", SYSTEM, "create", "token", "keeper", "--duration=2h"])).trim();
  credentials = await kubeconfigCredentials(cluster.kubeconfig);
  admin = connect(credentials, { signal: end.signal });
}, 600_000);

afterAll(async () => {
  end.abort();
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  number++;
  namespace = `keeper-${number}`;
  mkdirSync(join(folder, namespace));
  proxy = await startApiProxy(credentials);
  await send("POST", "namespaces", undefined, { metadata: { name: namespace } });
  await until(() => read("serviceaccounts", "default"), (account) => account !== undefined);
});

afterEach(async () => {
  await Promise.all(keepers.splice(0).map((keeper) => keeper.stop()));
  proxy.stop();
  expect(logs().match(/is forbidden: User/g), "the rights are enough").toBeNull();
});

/** What the keepers of this test have logged. */
const logs = () => readFileSync(join(folder, namespace, "keeper.log"), "utf8");

/** Starts a keeper with the account's token, through the proxy. */
function startKeeper(...args: string[]): Child {
  const kubeconfig = join(folder, "keeper.kubeconfig");
  writeFileSync(
    kubeconfig,
    stringify({
      clusters: [{ name: "c", cluster: { server: proxy.url } }],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      "current-context": "c",
    }),
  );
  const election = args.length > 0 ? args : ["--no-leader-election"];
  const all = ["keeper/main.ts", "--kubeconfig", kubeconfig, "--namespace", SYSTEM, ...election];
  const keeper = startChild("keeper", all, join(folder, namespace));
  keepers.push(keeper);
  return keeper;
}

/** Waits until a keeper has listed the Sandboxes. */
async function listed(): Promise<void> {
  const watching = () => Promise.resolve(proxy.requests.some((line) => line.endsWith("sandboxes watch")));
  await until(watching, (isWatching) => isWatching);
}

async function send(method: "POST" | "PATCH" | "DELETE", resource: string, name: string | undefined, body?: Loose) {
  const scope = resource === "namespaces" ? {} : { namespace };
  const [kind = "", subresource] = resource.split("/");
  const at = pathOf({ resource: kind as "pods", ...scope, ...(name ? { name } : {}) });
  const answer = await admin.send({ method, path: subresource ? `${at}/${subresource}` : at, body });
  expect(answer, `${method} ${resource} ${name}`).toMatchObject({ status: expect.toSatisfy((code) => code < 300) });
  return answer.body as Loose;
}

/** Reads an object; undefined if there is none. */
async function read(resource: string, name: string, from = namespace): Promise<Loose | undefined> {
  const answer = await admin.send({
    method: "GET",
    path: resource === "serviceaccounts"
      ? `/api/v1/namespaces/${from}/serviceaccounts/${name}`
      : pathOf({ resource: resource as "pods", namespace: from, name }),
  });
  return answer.status === 404 ? undefined : answer.body;
}

const container = (more: object = {}) => ({ name: "main", image: "busybox", ...more });

/** Makes the Sandbox `s`, or another, and gives it a Ready condition, as the hook would. */
async function makeSandbox(ready: [string, string, string], spec: object = {}, name = "s"): Promise<Loose> {
  const podTemplate = { spec: { containers: [container()] } };
  const object = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name } };
  await send("POST", "sandboxes", undefined, { ...object, spec: { podTemplate, ...spec } });
  return await publish(ready, {}, name);
}

async function publish([status, reason, message]: [string, string, string], more: object = {}, name = "s") {
  const { metadata } = await read("sandboxes", name);
  const time = { lastTransitionTime: new Date().toISOString(), observedGeneration: metadata.generation };
  const conditions = [{ type: "Ready", status, reason, message, ...time }];
  return await send("PATCH", "sandboxes/status", name, { status: { conditions, ...more } });
}

const ownedBy = ({ metadata: { name, uid } }: Loose) => ({
  ownerReferences: [{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true }],
});
const makePod = (metadata: object = {}, spec: object = {}) =>
  send("POST", "pods", undefined, {
    metadata: { name: "s", ...metadata },
    spec: { containers: [container()], ...spec },
  });

const untilGone = (name = "s") => until(() => read("sandboxes", name), (sandbox) => sandbox === undefined);
const wordOn = ({ metadata }: Loose) => {
  const text = metadata.annotations?.["agents.x-k8s.io/unresolved"];
  return text === undefined ? undefined : JSON.parse(text);
};
const untilWord = (holds: (word: Loose) => boolean, name = "s") =>
  until(async () => wordOn(await read("sandboxes", name)), holds);

const NO_POD: [string, string, string] = ["False", "DependenciesNotReady", "Pod does not exist"];
const READY: [string, string, string] = ["True", "DependenciesReady", "Pod is Ready"];
const EXPIRED: [string, string, string] = ["False", "SandboxExpired", "Sandbox has expired"];
const DUE = { shutdownPolicy: "Delete", shutdownTime: "2026-01-01T00:00:00Z" };
const isDeletion = (line: string) => line.startsWith("DELETE") && line.endsWith(`/${namespace}/sandboxes/s`);
const deletions = () => proxy.requests.filter(isDeletion).length;

describe("expiry", () => {
  test("is not acted upon before it is published; published while no keeper runs, the next one deletes", async () => {
    await makeSandbox(READY, DUE);
    const first = startKeeper();
    await listed();
    // Another one, made later and published, shows when the keeper has had its time.
    await makeSandbox(EXPIRED, DUE, "t");
    await untilGone("t");
    expect(deletions()).toBe(0);
    await first.kill("SIGKILL");
    await publish(EXPIRED);
    startKeeper();
    await untilGone();
    expect(deletions()).toBe(1);
  });

  test("survives a kill between the published status and the arrival of the request", async () => {
    const first = startKeeper();
    await listed();
    const held = proxy.held();
    proxy.gate = (line) => isDeletion(line) ? "hold" : "pass";
    await makeSandbox(EXPIRED, DUE);
    await held;
    await first.kill("SIGKILL");
    expect(await read("sandboxes", "s")).toBeDefined();
    proxy.gate = () => "pass";
    startKeeper();
    await untilGone();
    expect(deletions()).toBe(2);
  });

  test("survives a kill between the request and its answer, and a finalizer's delay", async () => {
    const first = startKeeper();
    await listed();
    const held = proxy.held();
    proxy.gate = (line) => isDeletion(line) ? "mute" : "pass";
    await makeSandbox(READY, DUE);
    await send("PATCH", "sandboxes", "s", { metadata: { finalizers: ["example.com/hold"] } });
    await publish(EXPIRED);
    await held;
    await first.kill("SIGKILL");
    expect((await read("sandboxes", "s")).metadata.deletionTimestamp).toBeTypeOf("string");
    proxy.requests.length = 0;
    startKeeper();
    await listed();
    await send("PATCH", "sandboxes", "s", { metadata: { finalizers: null } });
    await untilGone();
    expect(deletions()).toBe(0);
  });

  test("goes on after every connection has broken", async () => {
    await makeSandbox(READY, DUE);
    startKeeper();
    await listed();
    proxy.cut();
    await publish(EXPIRED);
    await untilGone();
    expect(logs()).toContain("Watch interrupted");
  });

  test("Retain is left alone, and so is what has been extended meanwhile", async () => {
    await makeSandbox(EXPIRED, { ...DUE, shutdownPolicy: "Retain" });
    startKeeper();
    await listed();
    const held = proxy.held();
    proxy.gate = (line) => isDeletion(line) ? "hold" : "pass";
    await send("PATCH", "sandboxes", "s", { spec: { shutdownPolicy: "Delete" } });
    expect(deletions(), "the hook has not seen it yet").toBe(0);
    const { metadata: { resourceVersion, uid } } = await publish(EXPIRED);
    await held;
    await send("PATCH", "sandboxes", "s", { spec: { shutdownTime: "2100-01-01T00:00:00Z" } });
    // What was held back now arrives, as late as it can.
    const late = await admin.send({
      method: "DELETE",
      path: pathOf({ resource: "sandboxes", namespace, name: "s" }),
      body: { preconditions: { uid, resourceVersion } },
    });
    expect(late.status).toBe(409);
    expect(await read("sandboxes", "s")).toBeDefined();
  });
});

describe("children that do not come into being", () => {
  test("a healthy Sandbox costs no request", async () => {
    startKeeper();
    await listed();
    await makeSandbox(["False", "DependenciesNotReady", "Pod exists with phase: Pending"]);
    await publish(READY, { podIPs: ["10.1.0.7"], nodeName: "n", selector: "a=b" });
    // Another one, in trouble, shows when the keeper has had its time.
    await makeSandbox(NO_POD, { podTemplate: { spec: { containers: [container({ image: "" })] } } }, "t");
    await untilWord((word) => word !== undefined, "t");
    expect(proxy.requests.filter((line) => line.includes(namespace) && line.endsWith("/s"))).toEqual([]);
  });

  test("a foreign Pod is named, and the word goes when the Pod goes", async () => {
    await makePod();
    await makeSandbox(NO_POD);
    startKeeper();
    const word = await untilWord((found) => found !== undefined);
    expect(word).toEqual({
      generation: 1,
      problems: [{
        kind: "Pod",
        name: "s",
        state: "taken",
        message: 'cannot adopt unowned pod "s": missing required pool authorization label ' +
          '("agents.x-k8s.io/adoptable") or sandbox tracking label ("agents.x-k8s.io/sandbox-name-hash")',
      }],
    });
    await send("DELETE", "pods", "s", { gracePeriodSeconds: 0 });
    expect(await untilWord((found) => found === undefined)).toBeUndefined();
  });

  test("adoptable children are labelled for Metacontroller; a Service with an address is not", async () => {
    const labels = { "agents.x-k8s.io/adoptable": "true" };
    const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } };
    await makePod({ labels });
    await send("POST", "persistentvolumeclaims", undefined, { metadata: { name: "home-s", labels }, spec: claim });
    await send("POST", "services", undefined, { metadata: { name: "s", labels }, spec: { ports: [{ port: 80 }] } });
    const volumeClaimTemplates = [{ metadata: { name: "home" }, spec: claim }];
    const { metadata: { uid } } = await makeSandbox(NO_POD, { service: true, volumeClaimTemplates });
    startKeeper();
    const word = await untilWord((found) => found !== undefined);
    const address = (await read("services", "s")).spec.clusterIP;
    const message = `cannot adopt service "s": ClusterIP is "${address}" (expected "None", field is immutable)`;
    expect(word.problems).toEqual([{ kind: "Service", name: "s", state: "taken", message }]);
    for (const [resource, name] of [["pods", "s"], ["persistentvolumeclaims", "home-s"]] as const) {
      expect((await read(resource, name)).metadata.labels).toEqual({ ...labels, "controller-uid": uid });
    }
    expect((await read("services", "s")).metadata.labels).toEqual(labels);
  });

  test("the API server's own words: an invalid spec, a quota; nothing is made by asking", async () => {
    const podTemplate = (image: string) => ({ spec: { containers: [container({ image })] } });
    await makeSandbox(NO_POD, { podTemplate: podTemplate("") });
    startKeeper();
    const invalid = await untilWord((found) => found !== undefined);
    expect(invalid.problems).toEqual([{
      kind: "Pod",
      name: "s",
      state: "invalid",
      message: 'Pod "s" is invalid: spec.containers[0].image: Required value',
    }]);
    await run(cluster, ["-n", namespace, "create", "quota", "none", "--hard=pods=0"]);
    const quota = () => run(cluster, ["-n", namespace, "get", "quota", "none", "-o", "jsonpath={.status.hard.pods}"]);
    await until(quota, (hard) => hard === "0");
    await send("PATCH", "sandboxes", "s", { spec: { podTemplate: podTemplate("busybox") } });
    await publish(NO_POD);
    const refused = await untilWord((found) => found?.generation === 2);
    expect(refused.problems).toEqual([{
      kind: "Pod",
      name: "s",
      state: "refused",
      message: 'pods "s" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0',
    }]);
    await run(cluster, ["-n", namespace, "delete", "quota", "none"]);
    await untilWord((found) => found === undefined);
    expect(await read("pods", "s")).toBeUndefined();
  });
});

test("ports that share a number: last-applied falls silent, for the Pod of this Sandbox only", async () => {
  const ports = [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }];
  const podTemplate = { spec: { containers: [container({ ports })] } };
  const sandbox = await makeSandbox(NO_POD, { podTemplate });
  const applied = { apiVersion: "v1", kind: "Pod", metadata: { name: "s" }, spec: podTemplate.spec };
  const annotations = { [LAST_APPLIED_ANNOTATION]: JSON.stringify(applied) };
  await makePod({ ...ownedBy(sandbox), annotations }, podTemplate.spec);
  startKeeper();
  await listed();
  await publish(READY, { selector: "a=b" });
  const text = ({ metadata }: Loose) => metadata.annotations[LAST_APPLIED_ANNOTATION];
  const silent = await until(() => read("pods", "s"), (pod) => !text(pod).includes("spec"));
  expect(text(silent)).toBe('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"s"}}');
  expect(silent.spec.containers[0].ports).toEqual(ports);
});

describe("leader election", () => {
  const ELECTION = ["--lease-seconds", "3"];
  const leaders = () => [...logs().matchAll(/"Leading".*?"identity":"([^"]+)"/g)].map(([, identity]) => identity);
  const untilLeaders = (count: number) => until(() => Promise.resolve(leaders()), (found) => found.length === count);
  const lease = () => read("leases", "hookbox-keeper", SYSTEM);

  test("one leads, another takes over when it is killed, and a clean stop gives the Lease back at once", async () => {
    const first = startKeeper(...ELECTION);
    await untilLeaders(1);
    const [port = 0] = await freePorts(1);
    const second = startKeeper(...ELECTION, "--port", String(port));
    const answer = async (route: string) => await (await fetch(`http://127.0.0.1:${port}${route}`)).text();
    expect(await until(() => answer("/readyz").catch(String), (text) => text === "ok"), "a standby is ready").toBe(
      "ok",
    );
    expect(await answer("/metrics")).toContain("hookbox_keeper_leading 0");
    await makeSandbox(READY, DUE);
    await first.kill("SIGKILL");
    await publish(EXPIRED);
    const identities = await untilLeaders(2);
    expect(new Set(identities).size).toBe(2);
    await untilGone();
    expect(await answer("/metrics")).toContain("hookbox_keeper_leading 1");
    expect(await answer("/metrics")).toContain('hookbox_keeper_actions_total{action="deleted"} 1');
    expect((await lease()).spec).toMatchObject({ holderIdentity: identities[1], leaseDurationSeconds: 3 });
    await second.stop();
    expect((await lease()).spec.holderIdentity).toBeUndefined();
    expect(logs()).toContain('"message":"Stopped"');
  });
});

test("the rights end where the needs end", async () => {
  writeFileSync(join(folder, namespace, "keeper.log"), "");
  const can = async (...args: string[]) => {
    const { stdout } = await attempt(cluster, ["auth", "can-i", ...args, `--as=${ACCOUNT}`]);
    return `${args.join(" ")}: ${stdout.trim()}`;
  };
  const all = [
    "delete sandboxes.agents.x-k8s.io",
    "get leases.coordination.k8s.io/hookbox-keeper -n hookbox-system",
    "delete pods",
    "list pods",
    "get secrets",
    "update sandboxes.agents.x-k8s.io",
    "patch sandboxes.agents.x-k8s.io --subresource=status",
    "get leases.coordination.k8s.io/another -n hookbox-system",
    "delete leases.coordination.k8s.io/hookbox-keeper -n hookbox-system",
    "get leases.coordination.k8s.io/hookbox-keeper -n default",
  ];
  const answers = await Promise.all(all.map((question) => can(...question.split(" "))));
  expect(answers).toEqual(all.map((question, index) => `${question}: ${index < 2 ? "yes" : "no"}`));
});
