/**
 * Keeps Metacontroller's merge from spoiling what it tells apart by one key: the Pod templates of Sandboxes that pools have
 * made, each checked once, when first seen; and the ports of each Pod and Service that share a number, once. What is not in
 * last-applied the merge leaves alone. @module
 */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { Sandbox } from "../api/sandbox.ts";
import type { Api } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { canonicalJson, LAST_APPLIED_ANNOTATION, lastApplied } from "../api/objects/apply.ts";
import { isUnchangedByMerge } from "../api/objects/unchangedbymerge.ts";
import { isObject } from "../api/objects/json.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import { type Child, findChild, RESOURCES } from "./child.ts";
import { extensionOwner } from "./readopt.ts";
import type { Reconciler, Report } from "./reconciler.ts";

/**
 * Returns the merge patch that takes `spec.podTemplate.spec` out of the last-applied annotation of a Sandbox that a pool
 * has made, where Metacontroller's merge, told to change nothing, would change it; undefined: it would not, or says
 * nothing of it.
 *
 * The merge tells items of a list by one key, and loses all but the last of those that share it: ports 53/TCP and
 * 53/UDP, two `httpHeaders` of one name. What is not in last-applied it leaves alone.
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

/** Makes the reconciler for Sandboxes of pools. A Sandbox that the merge leaves whole costs no request. */
export function mergeTrapReconciler(api: Api, report: Report): Reconciler<Sandbox> {
  /** {@link CHECKED}, or the resourceVersion that came too late. */
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
      // Decided here: a fleet that stood in line to be checked would all be in memory at once.
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

/** What cannot be read counts as trapped: the act fails on it, says so, and is tried again. */
function isTrapped(sandbox: Sandbox): boolean {
  try {
    return mergeTrapPatch(sandbox) !== undefined;
  } catch {
    return true;
  }
}

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

/** Makes the reconciler for Pods and Services whose ports share a number. Idempotent: what has been taken out already is read once more after a restart, and left as it is. */
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
