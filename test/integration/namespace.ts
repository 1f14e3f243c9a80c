/** One namespace for each test, with the few verbs that tests use; gone when the test is over. @module */
import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";
import { attempt, type Kubectl, type Outcome, run, until } from "./kubectl.ts";
import { createNamespace, deleteNamespace, hasNamespace, requestsOf } from "./requests.ts";
import { startedSuite } from "./shared.ts";

/** An object as kubectl prints it, loosely: tests look where they like. */
// deno-lint-ignore no-explicit-any -- assertions say what is expected of the shape
export type Loose = any;

/** Verbs within one namespace of the cluster under test. */
export interface Namespace {
  name: string;
  cluster: Kubectl;
  /** Applies objects; their namespace is this one. */
  apply(...objects: object[]): Promise<void>;
  /** Reads one object; undefined if there is none. */
  get(kind: string, name: string): Promise<Loose | undefined>;
  list(kind: string): Promise<Loose[]>;
  patch(kind: string, name: string, patch: object, ...more: string[]): Promise<void>;
  kubectl(...args: string[]): Promise<string>;
  attempt(...args: string[]): Promise<Outcome>;
  /** Waits until the object is as `holds` says; undefined stands for no object. */
  until(kind: string, name: string, holds: (object: Loose) => boolean): Promise<Loose>;
  /** Waits until the Sandbox's Ready condition has this reason. */
  untilReason(sandbox: string, reason: string): Promise<Loose>;
}

const made: { cluster: Kubectl; name: string }[] = [];

/** Waits until every namespace that this file has made is gone, or its cluster. @throws {Error} in five minutes */
export async function untilNamespacesGone(): Promise<void> {
  for (const { cluster, name } of made.splice(0)) {
    await until(() => hasNamespace(cluster, name), (isThere) => !isThere);
  }
}

/**
 * Makes a namespace that is deleted (without waiting) when the test ends, in the suite's cluster or another one.
 *
 * @param atEnd takes note of what is to be done when the test is over; to be given outside of a test
 */
export async function makeNamespace(
  where?: Kubectl,
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
): Promise<Namespace> {
  const cluster = where ?? startedSuite();
  const name = `t-${randomBytes(4).toString("hex")}`;
  await createNamespace(cluster, name);
  made.push({ cluster, name });
  // Pods need it, and the controller that makes it may lag behind.
  await until(() => requestsOf(cluster, name).get("serviceaccount", "default"), (account) => account !== undefined);
  atEnd(() => deleteNamespace(cluster, name));
  return namespaceOf(cluster, name);
}

/** Returns the verbs of a namespace that is there. */
export function namespaceOf(cluster: Kubectl, name: string): Namespace {
  const kubectl = (...args: string[]) => run(cluster, ["-n", name, ...args]);
  const { get, list, ...writes } = requestsOf(cluster, name);
  const untilObject: Namespace["until"] = (kind, object, holds) => until(() => get(kind, object), holds);
  return {
    name,
    cluster,
    kubectl,
    get,
    attempt: (...args) => attempt(cluster, ["-n", name, ...args]),
    apply: async (...objects) => {
      let done = 0;
      while (done < objects.length && await writes.create(objects[done])) done++;
      if (done === objects.length) return;
      const text = objects.slice(done).map((object) => stringify(object, { version: "1.1" })).join("---\n");
      await run(cluster, ["-n", name, "apply", "-f", "-"], text);
    },
    list,
    patch: async (kind, object, patch, ...more) => {
      if (more.length === 0 && await writes.patch(kind, object, patch)) return;
      await kubectl("patch", kind, object, "--type=merge", "-p", JSON.stringify(patch), ...more);
    },
    until: untilObject,
    untilReason: (sandbox, reason) =>
      untilObject("sandbox", sandbox, (object) => condition(object, "Ready")?.reason === reason),
  };
}

/** Makes a ResourceQuota that allows no Pods, and waits until the API server refuses them. */
export async function forbidPods(ns: Namespace, quota: string): Promise<void> {
  const spec = { hard: { pods: "0" } };
  await ns.apply({ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: quota }, spec });
  const tried = () => ns.attempt("run", "tried", "--image=busybox:1.37", "--dry-run=server");
  await until(tried, ({ stderr }) => stderr.includes("exceeded quota"));
}

/** Returns a condition of an object, undefined if there is none of that type. */
export function condition(object: Loose, type: string): Loose | undefined {
  return object?.status?.conditions?.find((candidate: Loose) => candidate.type === type);
}

/** Makes a Sandbox that runs anywhere: a busybox that sleeps, on whatever node takes it, gone at once when told to. */
export function sleeper(name: string, spec: Loose = {}, podSpec: Loose = {}): Loose {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name },
    spec: {
      ...spec,
      podTemplate: {
        ...spec.podTemplate,
        spec: {
          terminationGracePeriodSeconds: 0,
          automountServiceAccountToken: false,
          containers: [{ name: "main", image: "busybox:1.37", command: ["sleep", "86400"] }],
          ...podSpec,
        },
      },
    },
  };
}

/** Spec fields of a Sandbox with a volume: `data-<name>`. */
export const VOLUME = {
  volumeClaimTemplates: [{
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Mi" } } },
  }],
};

/** Pod spec fields that put a Pod on a simulated node, even if there is a real one. */
export const ON_SIMULATED_NODES = {
  nodeSelector: { type: "kwok" },
  tolerations: [{ key: "kwok.x-k8s.io/node", operator: "Exists", effect: "NoSchedule" }],
};
