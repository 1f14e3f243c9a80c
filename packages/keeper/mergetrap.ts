/**
 * Protects list items that share a key from Metacontroller's merge, which would lose all but one of them. It checks the
 * Pod template of each Sandbox that a pool has created once, when it is first seen. It checks the ports of each Pod and
 * Service that share a port number once, too. The merge leaves alone what is not in the last-applied annotation.
 * @module
 */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { Sandbox } from "../api/sandbox.ts";
import type { Api } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/requests.ts";
import { canonicalJson, isUnchangedByMerge, LAST_APPLIED_ANNOTATION, lastApplied } from "../api/objects/apply.ts";
import { isObject } from "../api/objects/json.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import { type Child, findChild, RESOURCES } from "./child.ts";
import { extensionOwner } from "./readopt.ts";
import type { Reconciler } from "../kube/reconcilequeue.ts";
import type { Report } from "./reconciler.ts";

/**
 * Returns the merge patch that removes `spec.podTemplate.spec` from the last-applied annotation of a pool's Sandbox;
 * undefined if that is not necessary. It is necessary if Metacontroller's merge would change the Pod spec although
 * nothing was to change.
 *
 * The merge identifies list items by one key, and loses all but the last of those that share it: ports 53/TCP and
 * 53/UDP, or two `httpHeaders` of the same name. It leaves alone what is not in the last-applied annotation.
 *
 * @throws {SyntaxError} if the annotation is not the JSON text of an object
 */
export function mergeTrapPatch(sandbox: Sandbox): object | undefined {
  const applied = lastApplied(sandbox);
  const spec = isObject(applied?.["spec"]) ? applied["spec"] : {};
  const podTemplate = isObject(spec["podTemplate"]) ? spec["podTemplate"] : {};
  const { spec: podSpec, ...silent } = podTemplate;
  const observed = { spec: sandbox.spec.podTemplate.spec };
  if (podSpec === undefined || isUnchangedByMerge(observed, { spec: podSpec }, { spec: podSpec })) return undefined;
  const text = canonicalJson({ ...applied, spec: { ...spec, podTemplate: silent } });
  return patchOf(sandbox.metadata, { annotations: { [LAST_APPLIED_ANNOTATION]: text } });
}

const CHECKED = "checked";

/** Creates the reconciler for Sandboxes of pools. It sends no request for a Sandbox that the merge does not change. */
export function mergeTrapReconciler(api: Api, report: Report): Reconciler<Sandbox> {
  /** {@link CHECKED}, or the resourceVersion for which the patch got a conflict. */
  const memory = new Map<string, string | undefined>();
  return {
    name: "merge traps",
    memory,
    listing: () => memory.clear(),
    dueAt(sandbox, now) {
      const { uid = "", annotations, resourceVersion } = sandbox.metadata;
      if (annotations?.[LAST_APPLIED_ANNOTATION] === undefined || !extensionOwner(sandbox.metadata)) return undefined;
      const before = memory.get(uid);
      if (before === CHECKED || (before !== undefined && before === resourceVersion)) return undefined;
      // Checked here and not in the queue: otherwise a whole fleet of waiting Sandboxes would be in memory at the same
      // time.
      if (isTrapped(sandbox)) return now;
      memory.set(uid, CHECKED);
      return undefined;
    },
    async reconcile(sandbox) {
      const { metadata } = sandbox;
      const body = mergeTrapPatch(sandbox);
      const isDone = !body || await sendPatch(api, { kind: "Sandbox", resource: "sandboxes", metadata }, body);
      memory.set(metadata.uid ?? "", isDone ? CHECKED : metadata.resourceVersion);
      if (isDone && body) report("spec left out of last-applied", metadata, { kind: "Sandbox" });
    },
  };
}

/** An annotation that cannot be read counts as trapped: `reconcile` then fails, is logged, and is retried. */
function isTrapped(sandbox: Sandbox): boolean {
  try {
    return mergeTrapPatch(sandbox) !== undefined;
  } catch {
    return true;
  }
}

/** Returns whether a container of the Pod has one port number twice: 53/TCP and 53/UDP. */
export function podSharesPorts({ containers, initContainers = [] }: V1PodSpec): boolean {
  return [...containers, ...initContainers].some(({ ports = [] }) => {
    return new Set(ports.map(({ containerPort }) => containerPort)).size < ports.length;
  });
}

/** Returns whether the Service would have one port number twice, with two protocols, from any containers or sidecars. */
export function serviceSharesPorts({ containers, initContainers = [] }: V1PodSpec): boolean {
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const ports = [...containers, ...sidecars].flatMap(({ ports = [] }: V1Container) => ports);
  const numbers = new Set(ports.map(({ containerPort }) => containerPort));
  return new Set(ports.map(({ containerPort, protocol = "TCP" }) => `${containerPort}/${protocol}`)).size >
    numbers.size;
}

/**
 * Returns a text that identifies the state in which the children of such a Sandbox must be read; undefined if they need
 * not be. The text changes when the status shows another Pod or Service, but not when readiness changes.
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
 * Returns the merge patch that removes the spec of a Pod, or the ports of a Service, from its last-applied annotation;
 * undefined if they are not in it. Then the hook's answer lacks them as well, and Metacontroller leaves them alone.
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

/**
 * Creates the reconciler for Pods and Services whose ports share a number. It is idempotent: after a restart, it reads
 * each child once more, and changes nothing that it has changed before.
 */
export function sharedPortsReconciler(api: Api, report: Report): Reconciler<Sandbox> {
  /** The state that was last handled, by UID. */
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

/** The kubelet often writes the status of a new Pod, so a patch can get conflicts. */
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
