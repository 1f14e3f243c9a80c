/** Keeps Metacontroller's merge from collapsing ports that share a number, for each Pod and Service once. @module */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { Sandbox } from "../api/sandbox.ts";
import type { Api } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { canonicalJson, LAST_APPLIED_ANNOTATION, lastApplied } from "../api/objects/apply.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import { type Child, findChild, RESOURCES } from "./child.ts";
import type { Reconciler, Report } from "./reconciler.ts";

/** Tells whether some container of the Pod names one port number twice: 53/TCP and 53/UDP. */
export function podSharesPorts({ containers, initContainers = [] }: V1PodSpec): boolean {
  return [...containers, ...initContainers].some(({ ports = [] }) => {
    return new Set(ports.map(({ containerPort }) => containerPort)).size < ports.length;
  });
}

/** Tells whether the Service would have one port number twice: of two protocols, in any containers or sidecars. */
export function serviceSharesPorts({ containers, initContainers = [] }: V1PodSpec): boolean {
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const ports = [...containers, ...sidecars].flatMap(({ ports = [] }: V1Container) => ports);
  const numbers = new Set(ports.map(({ containerPort }) => containerPort));
  return new Set(ports.map(({ containerPort, protocol = "TCP" }) => `${containerPort}/${protocol}`)).size >
    numbers.size;
}

/**
 * Names the state in which the children of such a Sandbox are to be read; undefined: not at all.
 *
 * It changes with what the status shows of the Pod and the Service, so with every new Pod, and not with readiness.
 */
export function portsState({ metadata, spec, status = {} }: Sandbox): string | undefined {
  const podSpec = spec.podTemplate.spec;
  const isShared = podSharesPorts(podSpec) || serviceSharesPorts(podSpec);
  const { podIPs = [], nodeName, selector, service } = status;
  const isSeen = podIPs.length > 0 || nodeName || selector;
  if (!isShared || !isSeen || metadata.deletionTimestamp !== undefined) return undefined;
  return JSON.stringify([metadata.generation, selector, nodeName, podIPs, service]);
}

/**
 * Returns the merge patch that takes the spec of a Pod, or the ports of a Service, out of its last-applied annotation;
 * undefined if they are not in it. The hook then says nothing of them and Metacontroller leaves them alone.
 *
 * @throws {SyntaxError} if the annotation is not the JSON text of an object
 */
export function silencingPatch(object: KubeObject): object | undefined {
  const applied = lastApplied(object);
  const spec = applied?.["spec"] as Record<string, unknown> | undefined;
  if (!applied || !spec || (object.kind === "Service" && spec["ports"] === undefined)) return undefined;
  const { ports: _, ...others } = spec;
  const { spec: __, ...silent } = applied;
  const text = canonicalJson(object.kind === "Service" ? { ...silent, spec: others } : silent);
  return patchOf(object.metadata, { annotations: { [LAST_APPLIED_ANNOTATION]: text } });
}

/** Makes the reconciler. Idempotent: what has been taken out already is read once more after a restart, and left as it is. */
export function sharedPortsReconciler(api: Api, report: Report): Reconciler<Sandbox> {
  /** The state that was dealt with. */
  const memory = new Map<string, string>();
  return {
    name: "shared ports",
    memory,
    listing: () => memory.clear(),
    dueAt(sandbox, now) {
      const state = portsState(sandbox);
      return state === undefined || memory.get(sandbox.metadata.uid ?? "") === state ? undefined : now;
    },
    async reconcile(sandbox) {
      const state = portsState(sandbox);
      if (state === undefined) return;
      const { spec } = sandbox.spec.podTemplate;
      if (podSharesPorts(spec)) await silence("Pod", sandbox, api, report);
      if (serviceSharesPorts(spec) && sandbox.status?.service) await silence("Service", sandbox, api, report);
      memory.set(sandbox.metadata.uid ?? "", state);
    },
  };
}

/** The kubelet writes the status of a young Pod often, so that a patch may come too late. */
const TRIES = 5;

async function silence(kind: Child["kind"], sandbox: Sandbox, api: Api, report: Report): Promise<void> {
  const { namespace, name, uid } = sandbox.metadata;
  for (let tries = 1; tries <= TRIES; tries++) {
    const object = await findChild(api, sandbox, { kind, name });
    const body = object && controllerOf(object.metadata)?.uid === uid ? silencingPatch(object) : undefined;
    if (!object || !body) return;
    const isWritten = await sendPatch(api, { kind, resource: RESOURCES[kind], metadata: object.metadata }, body);
    if (isWritten) return report("spec left out of last-applied", sandbox.metadata, { kind });
  }
  throw new Error(`Cannot annotate ${kind} ${namespace}/${name}: it has changed each of ${TRIES} times`);
}
