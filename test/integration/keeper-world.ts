/**
 * A real API server with our CRDs and nothing else, keepers as processes that reach it through a proxy, with the rights
 * of deploy/keeper/rbac.yaml and no others and under deploy/keeper/admission.yaml, and verbs to play the hook's part. Files share the API server: a keeper sees the
 * namespace of its test alone, and its Lease is in a namespace of its file. @module
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { stringify } from "yaml";
import { type Api, pathOf } from "../../packages/kube/api.ts";
import { connect } from "../../packages/kube/connection.ts";
import { type Credentials, kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import { type ApiProxy, startApiProxy } from "./apiproxy.ts";
import { run, until } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { type Child, startChild } from "./processes.ts";
import { type BareCluster, shared } from "./shared.ts";

const FILE = `keeper-${randomBytes(3).toString("hex")}`;
export const SYSTEM = `${FILE}-system`;
export const ACCOUNT = `system:serviceaccount:${SYSTEM}:keeper`;
export const folder = mkdtempSync(join(tmpdir(), "hookbox-keeper-"));
const over = new AbortController();
const path = (relative: string) => fileURLToPath(new URL(`../../${relative}`, import.meta.url));

/** Of this file's tests: the cluster, and requests with every right. */
export let cluster: BareCluster;
export let admin: Api;
let credentials: Credentials;
let token: string;
/** Of the test that runs: what keepers go through, and its namespace. */
export let proxy: ApiProxy;
export let namespace: string;
let number = 0;
const keepers: Child[] = [];

/** For beforeAll: waits for the cluster and makes the keepers' account. */
export async function up(): Promise<void> {
  cluster = await shared("bare");
  await run(cluster, ["create", "namespace", SYSTEM]);
  await run(cluster, ["-n", SYSTEM, "create", "serviceaccount", "keeper"]);
  await run(cluster, ["-n", SYSTEM, "apply", "-f", path("deploy/keeper/rbac.yaml")]);
  await run(cluster, ["apply", "-f", "-"], policy());
  const account = `--serviceaccount=${SYSTEM}:keeper`;
  await run(cluster, ["create", "clusterrolebinding", FILE, "--clusterrole=hookbox-keeper", account]);
  await run(cluster, ["-n", SYSTEM, "create", "rolebinding", "keeper", "--role=hookbox-keeper", account]);
  token = (await run(cluster, ["-n", SYSTEM, "create", "token", "keeper", "--duration=2h"])).trim();
  credentials = await kubeconfigCredentials(cluster.kubeconfig);
  admin = connect(credentials, { signal: over.signal, userAgent: "hookbox-test" });
}

/** The admission policy, for the keepers of this file. */
function policy(): string {
  const text = readFileSync(path("deploy/keeper/admission.yaml"), "utf8");
  return text.replaceAll("system:serviceaccount:hookbox-system:hookbox-keeper", ACCOUNT)
    .replaceAll("ame: hookbox-keeper", `ame: ${FILE}`)
    .replaceAll('"hookbox-system"', `"${SYSTEM}"`);
}

/** For afterAll. */
export async function down(): Promise<void> {
  await run(cluster, ["delete", "clusterrolebinding", FILE]);
  await run(cluster, ["delete", "-f", "-"], policy());
  await run(cluster, ["delete", "namespace", SYSTEM, "--wait=false"]);
  over.abort();
  rmSync(folder, { recursive: true, force: true });
}

/** For beforeEach: makes a namespace, and a proxy that shows keepers nothing else unless told. */
export async function begin(shown?: "all namespaces"): Promise<void> {
  number++;
  namespace = `${FILE}-${number}`;
  mkdirSync(join(folder, namespace));
  proxy = await startApiProxy(credentials, shown === undefined ? namespace : undefined);
  await send("POST", "namespaces", undefined, { metadata: { name: namespace } });
  await until(() => read("serviceaccounts", "default"), (account) => account !== undefined);
}

/** For afterEach: ends the keepers, which must not have lacked a right. */
export async function end(): Promise<void> {
  await Promise.all(keepers.splice(0).map((keeper) => keeper.stop()));
  proxy.stop();
  expect(logs().match(/is forbidden: User|The keeper may /g), "the rights are enough").toBeNull();
}

/** What the keepers of this test have logged. */
export const logs = () => readFileSync(join(folder, namespace, "keeper.log"), "utf8");

/** Starts a keeper with the account's token, through the proxy. */
export function startKeeper(...args: string[]): Child {
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
  const all = [
    "packages/keeper/main.ts",
    "--no-binder",
    "--kubeconfig",
    kubeconfig,
    "--namespace",
    SYSTEM,
    ...election,
  ];
  const keeper = startChild("keeper", all, join(folder, namespace));
  keepers.push(keeper);
  return keeper;
}

/** Waits until a keeper has listed every kind. */
export async function listed(): Promise<void> {
  const kinds = ["sandboxes", "sandboxclaims", "sandboxwarmpools", "sandboxtemplates"];
  const isWatched = (kind: string) => proxy.requests.some((line) => line.endsWith(`/${kind} watch`));
  const watching = () => Promise.resolve(kinds.every(isWatched));
  await until(watching, (isWatching) => isWatching);
}

export async function send(
  method: "POST" | "PATCH" | "DELETE",
  resource: string,
  name: string | undefined,
  body?: Loose,
) {
  const scope = resource === "namespaces" ? {} : { namespace };
  const [kind = "", subresource] = resource.split("/");
  const at = pathOf({ resource: kind as "pods", ...scope, ...(name ? { name } : {}) });
  const answer = await admin.send({ method, path: subresource ? `${at}/${subresource}` : at, body });
  expect(answer, `${method} ${resource} ${name}`).toMatchObject({ status: expect.toSatisfy((code) => code < 300) });
  return answer.body as Loose;
}

/** Reads an object; undefined if there is none. */
export async function read(resource: string, name: string, from = namespace): Promise<Loose | undefined> {
  const answer = await admin.send({
    method: "GET",
    path: resource === "serviceaccounts"
      ? `/api/v1/namespaces/${from}/serviceaccounts/${name}`
      : pathOf({ resource: resource as "pods", namespace: from, name }),
  });
  return answer.status === 404 ? undefined : answer.body;
}

export const container = (more: object = {}) => ({ name: "main", image: "busybox", ...more });

/** Makes the Sandbox `s`, or another, and gives it a Ready condition, as the hook would. */
export async function makeSandbox(
  ready: [string, string, string],
  spec: object = {},
  name = "s",
  metadata: object = {},
): Promise<Loose> {
  const podTemplate = { spec: { containers: [container()] } };
  const object = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name, ...metadata } };
  await send("POST", "sandboxes", undefined, { ...object, spec: { podTemplate, ...spec } });
  return await publish(ready, {}, name);
}

/** Publishes the Ready condition of a Sandbox, or of a claim, and more of its status. */
export async function publish(
  [status, reason, message]: [string, string, string],
  more: object = {},
  name = "s",
  resource = "sandboxes",
) {
  const { metadata } = await read(resource, name);
  const time = { lastTransitionTime: new Date().toISOString(), observedGeneration: metadata.generation };
  const conditions = [{ type: "Ready", status, reason, message, ...time }];
  return await send("PATCH", `${resource}/status`, name, { status: { conditions, ...more } });
}

const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";

/** Makes the template `t`, by default without a NetworkPolicy. */
export function makeTemplate(spec: object = { networkPolicyManagement: "Unmanaged" }): Promise<Loose> {
  const object = { apiVersion: EXTENSIONS, kind: "SandboxTemplate", metadata: { name: "t" } };
  const podTemplate = { spec: { containers: [container()] } };
  return send("POST", "sandboxtemplates", undefined, { ...object, spec: { podTemplate, ...spec } });
}

/** Makes the pool `p` of the template `t`. */
export function makePool(): Promise<Loose> {
  const object = { apiVersion: EXTENSIONS, kind: "SandboxWarmPool", metadata: { name: "p" } };
  return send("POST", "sandboxwarmpools", undefined, { ...object, spec: { sandboxTemplateRef: { name: "t" } } });
}

/** Makes the claim `c`, or another, on the pool `p`, or another. */
export function makeClaim(spec: object = {}, name = "c"): Promise<Loose> {
  const object = { apiVersion: EXTENSIONS, kind: "SandboxClaim", metadata: { name } };
  return send("POST", "sandboxclaims", undefined, { ...object, spec: { warmPoolRef: { name: "p" }, ...spec } });
}

/** Returns the metadata of what is controlled by `owner`. */
export function ownedBy({ apiVersion, kind, metadata: { name, uid } }: Loose) {
  return { ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }] };
}

/** Returns what the keeper says in an object's annotation; undefined: nothing. */
export function wordOn({ metadata }: Loose): Loose | undefined {
  const text = metadata.annotations?.["agents.x-k8s.io/unresolved"];
  return text === undefined ? undefined : JSON.parse(text);
}

/** Waits until what the keeper says of an object is so. */
export async function untilWordOn(resource: string, name: string, holds: (word: Loose) => boolean): Promise<Loose> {
  return await until(async () => wordOn(await read(resource, name)), holds);
}

/** Ready of a Sandbox: status, reason, message. */
export const READY: [string, string, string] = ["True", "DependenciesReady", "Pod is Ready"];
