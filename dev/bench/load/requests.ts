/**
 * Builds the objects of the load, the smallest that every implementation of v1beta1 accepts, and sends its requests to a
 * cluster, except watches. Each request is sent when it is due, even if earlier ones have not been answered. A burst is
 * sent by a few clients. @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Arrivals, dueTimes } from "../../../packages/cli/pool/simulate.ts";
import { answerError, type Api, isOk, type ObjectPath, pathOf } from "../../../packages/kube/api.ts";
import { RUNTIME_IMAGE } from "../../cluster/runtimeimage.ts";
import { SHARD_LABEL } from "../../../packages/api/objects/keys.ts";

/** How many requests run in parallel when a run is prepared and cleaned up. */
const CLIENTS = 16;

/**
 * Calls `ask` with 0, 1, … `count` - 1, and resolves when every call has resolved. If a call rejects, it makes no more
 * calls and rejects with the first error.
 *
 * @param ask is called with the index and when the call was due (`performance.now()` milliseconds). Latencies count
 * from that time, so that a load that is late cannot hide it. In a burst, a call is due when a client is free.
 */
export async function sendAll(
  count: number,
  arrivals: Arrivals,
  ask: (index: number, due: number) => Promise<void>,
): Promise<void> {
  if (arrivals.kind === "burst") {
    const indexes = Array.from({ length: count }, (_, index) => index).values();
    const client = async () => {
      for (const index of indexes) await ask(index, performance.now());
    };
    await Promise.all(Array.from({ length: arrivals.clients }, client));
    return;
  }
  const begun = performance.now();
  const running: Promise<void>[] = [];
  const failures: unknown[] = [];
  for (const [index, ms] of dueTimes(count, arrivals).entries()) {
    if (failures.length > 0) break;
    const due = begun + ms;
    const wait = due - performance.now();
    if (wait > 0) await sleep(wait);
    // The error is handled now: a rejection that nobody awaits yet would end the process.
    running.push(ask(index, due).catch((error) => void failures.push(error)));
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}

/** Creates an object in the collection of `path`. @throws if the API server refuses it */
export async function create(api: Api, path: ObjectPath, body: { kind: string; metadata: { name: string } }) {
  const answer = await api.send({ method: "POST", path: pathOf(path), body });
  if (!isOk(answer)) throw answerError(`create ${body.kind} ${body.metadata.name}`, answer);
}

/** Creates `count` objects in parallel. @throws the first refusal */
export async function createAll(
  api: Api,
  count: number,
  make: (index: number) => { path: ObjectPath; body: Parameters<typeof create>[2] },
): Promise<void> {
  await sendAll(count, { kind: "burst", clients: CLIENTS }, async (index) => {
    const { path, body } = make(index);
    await create(api, path, body);
  });
}

/** Deletes objects in parallel. Objects that no longer exist are ignored. */
export async function removeAll(api: Api, paths: readonly ObjectPath[]): Promise<void> {
  await sendAll(paths.length, { kind: "burst", clients: CLIENTS }, async (index) => {
    const path = paths[index];
    if (path) await remove(api, path);
  });
}

/** Deletes one object. @throws if the API server refuses, unless the object does not exist */
export async function remove(api: Api, path: ObjectPath): Promise<void> {
  const answer = await api.send({ method: "DELETE", path: pathOf(path) });
  if (!isOk(answer) && answer.status !== 404) throw answerError(`delete ${path.resource} ${path.name}`, answer);
}

/** Lists a whole collection. @throws if the API server refuses */
export async function listAll<T>(api: Api, resource: ObjectPath["resource"]): Promise<T[]> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource }) });
  if (!isOk(answer)) throw answerError(`list ${resource}`, answer);
  return (answer.body as { items: T[] }).items;
}

const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
/** A container that only waits. On simulated nodes it does not run. */
const POD_TEMPLATE = {
  spec: {
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    containers: [{ name: "main", image: "busybox:1.37", command: ["sleep", "86400"] }],
  },
};

/** Builds a Sandbox without a claim or pool. */
export function aSandbox(name: string) {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name },
    spec: { podTemplate: POD_TEMPLATE },
  };
}

export function aTemplate(name: string) {
  return { apiVersion: EXTENSIONS, kind: "SandboxTemplate", metadata: { name }, spec: { podTemplate: POD_TEMPLATE } };
}

/** Builds a template with hookbox's runtime. */
export function aRuntimeTemplate(name: string) {
  const container = {
    name: "main",
    image: RUNTIME_IMAGE,
    imagePullPolicy: "IfNotPresent",
    readinessProbe: { httpGet: { path: "/v1/health", port: 8080 }, periodSeconds: 1 },
  };
  const podTemplate = { spec: { ...POD_TEMPLATE.spec, containers: [container] } };
  return { apiVersion: EXTENSIONS, kind: "SandboxTemplate", metadata: { name }, spec: { podTemplate } };
}

/** Builds a pool. `shard` says which of several Metacontrollers is responsible for it. */
export function aPool(name: string, template: string, replicas: number, shard: string) {
  const spec = { replicas, sandboxTemplateRef: { name: template } };
  return {
    apiVersion: EXTENSIONS,
    kind: "SandboxWarmPool",
    metadata: { name, labels: { [SHARD_LABEL]: shard } },
    spec,
  };
}

export function aClaim(name: string, pool: string) {
  return { apiVersion: EXTENSIONS, kind: "SandboxClaim", metadata: { name }, spec: { warmPoolRef: { name: pool } } };
}
