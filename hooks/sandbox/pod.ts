/**
 * Builds the Pod of a Sandbox from the template. While the Pod exists, only its labels and annotations change. @module
 */
import type { V1PodSpec } from "@kubernetes/client-node";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { canonicalJson, lastApplied } from "../../packages/api/objects/apply.ts";
import {
  CLAIM_UID_LABEL,
  CREATED_BY_LABEL,
  isEngineKey,
  isReservedKey,
  NAME_HASH_LABEL,
  POD_LOSSES_ANNOTATION,
  POD_SPEC_HASH_ANNOTATION,
  PROPAGATED_ANNOTATIONS_ANNOTATION,
  PROPAGATED_LABELS_ANNOTATION,
  RESIZED_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
  TRACE_CONTEXT_ANNOTATION,
  WARM_POOL_LABEL,
} from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import { controllerOf, type DesiredMeta, type DesiredObject, groupOf } from "../../packages/api/objects/objects.ts";
import type { Pod } from "../../packages/api/objects/pods.ts";
import { unchangedSpec, withForeignFields } from "../../packages/webhook/unchanged.ts";
import { claimTemplates, pvcName, volumeName } from "./pvcs.ts";
import type { Json } from "../../packages/api/objects/json.ts";

/**
 * Builds a new Pod. It has the Sandbox's name, the template's spec, and one volume for each volume claim template. This
 * volume replaces the template's volume with the same name. Source: Agent Sandbox API, section 2.3.
 *
 * @param losses value of {@link POD_LOSSES_ANNOTATION}; undefined: no Pod has disappeared
 */
export function buildPod(sandbox: Sandbox, losses?: string): DesiredObject<"Pod", V1PodSpec> {
  const origin = {
    [POD_SPEC_HASH_ANNOTATION]: specHash(sandbox),
    ...(losses === undefined ? {} : { [POD_LOSSES_ANNOTATION]: losses }),
  };
  return { ...podIdentity(sandbox, sandbox.metadata.name, origin), spec: podSpec(sandbox) };
}

/** Annotations that describe how the Pod was created. They never change while the Pod exists. */
const ORIGIN_ANNOTATIONS = [POD_SPEC_HASH_ANNOTATION, POD_LOSSES_ANNOTATION];

/**
 * Returns an existing Pod with the metadata that it should have. The answered spec leaves the Pod's spec unchanged: the
 * hook never changes the spec of an existing Pod, even if the template has changed.
 */
export function keepPod(sandbox: Sandbox, pod: Pod): DesiredObject<"Pod"> {
  const wanted = podIdentity(
    sandbox,
    pod.metadata.name,
    picked(pod.metadata.annotations ?? {}, ORIGIN_ANNOTATIONS),
  );
  const last = lastApplied(pod);
  return { ...wanted, metadata: withInheritance(wanted.metadata, pod, last), ...unchangedSpec(pod, last) };
}

/**
 * Tells whether a Pod was created from another spec than the Sandbox has now, and was not resized to it. A Pod without
 * the hash annotation is never outdated.
 */
export function isOutdated(sandbox: Sandbox, { metadata }: Pod): boolean {
  const hash = metadata.annotations?.[POD_SPEC_HASH_ANNOTATION];
  if (hash === undefined) return false;
  const now = specHash(sandbox);
  return hash !== now && sandbox.metadata.annotations?.[RESIZED_ANNOTATION] !== resizedValue(hash, now);
}

/** Returns the value of {@link RESIZED_ANNOTATION}. @param before @param after hashes of the spec */
export function resizedValue(before: string, after: string): string {
  return `${before} ${after}`;
}

/**
 * Returns a hash of the Sandbox's fields that determine the Pod's spec, not of the Pod's spec. So a new version of this
 * hook, which may build another spec, makes no Pod outdated.
 */
export function specHash(sandbox: Sandbox): string {
  return nameHash(canonicalJson([sandbox.spec.podTemplate.spec, claimTemplates(sandbox).map(volumeName)]));
}

function podIdentity(sandbox: Sandbox, name: string, origin: StringMap): Omit<DesiredObject<"Pod">, "spec"> {
  const annotations = { ...podAnnotations(sandbox), ...origin };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      labels: podLabels(sandbox),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
  };
}

function podSpec(sandbox: Sandbox): V1PodSpec {
  const { spec } = sandbox.spec.podTemplate;
  const templates = claimTemplates(sandbox);
  if (templates.length === 0) return spec;
  const claimed = new Set(templates.map(volumeName));
  return {
    ...spec,
    volumes: [
      ...(spec.volumes ?? []).filter((volume) => !claimed.has(volume.name)),
      ...templates.map((template) => ({
        name: volumeName(template),
        persistentVolumeClaim: { claimName: pvcName(template, sandbox) },
      })),
    ],
  };
}

const EXTENSIONS_GROUP = "extensions.agents.x-k8s.io";
const KNOWN_CLIENTS = new Set(["go-client", "python-client", "controller"]);

type StringMap = Record<string, string>;

/**
 * Computes the Pod's labels: the template's labels without reserved keys, the name hash, labels for the Sandbox's
 * controller (see the table), and the client that created the Sandbox. Source: Agent Sandbox API, section 2.3;
 * claim-uid as of 1.0.
 *
 * | controller of the Sandbox | labels copied from the Sandbox |
 * |---|---|
 * | none, or a kind of another API group | none |
 * | SandboxWarmPool | warm-pool-sandbox, sandbox-template-ref-hash |
 * | SandboxClaim | claim-uid, sandbox-template-ref-hash |
 */
function podLabels(sandbox: Sandbox): StringMap {
  const own = sandbox.metadata.labels ?? {};
  const client = own[CREATED_BY_LABEL];
  return {
    ...propagatedLabels(sandbox),
    [NAME_HASH_LABEL]: nameHash(sandbox.metadata.name),
    ...picked(own, extensionKeys(sandbox)),
    ...(client === undefined ? {} : { [CREATED_BY_LABEL]: KNOWN_CLIENTS.has(client) ? client : "unknown" }),
  };
}

/**
 * Computes the Pod's annotations: the template's annotations, and the lists of the keys that came from the template.
 */
function podAnnotations(sandbox: Sandbox): StringMap {
  const annotations = propagatedAnnotations(sandbox);
  return {
    ...annotations,
    ...keyList(PROPAGATED_LABELS_ANNOTATION, propagatedLabels(sandbox)),
    ...keyList(PROPAGATED_ANNOTATIONS_ANNOTATION, annotations),
  };
}

function propagatedLabels(sandbox: Sandbox): StringMap {
  return filtered(sandbox.spec.podTemplate.metadata?.labels ?? {}, isPropagated);
}

function propagatedAnnotations(sandbox: Sandbox): StringMap {
  const template = sandbox.spec.podTemplate.metadata?.annotations ?? {};
  return filtered(template, (key) => isPropagated(key) && key !== TRACE_CONTEXT_ANNOTATION);
}

function isPropagated(key: string): boolean {
  return !isReservedKey(key) && !isEngineKey(key);
}

function extensionKeys(sandbox: Sandbox): string[] {
  const owner = controllerOf(sandbox.metadata);
  if (!owner || groupOf(owner.apiVersion) !== EXTENSIONS_GROUP) return [];
  if (owner.kind === "SandboxWarmPool") return [WARM_POOL_LABEL, TEMPLATE_REF_HASH_LABEL];
  if (owner.kind === "SandboxClaim") return [CLAIM_UID_LABEL, TEMPLATE_REF_HASH_LABEL];
  return [TEMPLATE_REF_HASH_LABEL];
}

function picked(map: StringMap, keys: string[]): StringMap {
  return filtered(map, (key) => keys.includes(key));
}

function filtered(map: StringMap, keep: (key: string) => boolean): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => keep(key)));
}

function keyList(annotation: string, map: StringMap): StringMap {
  const keys = Object.keys(map).sort();
  return keys.length === 0 ? {} : { [annotation]: keys.join(",") };
}

/** Labels that depend on the owner of the Sandbox. A Pod may still have those of a former owner. */
const OWNER_LABELS = [CLAIM_UID_LABEL, CREATED_BY_LABEL, TEMPLATE_REF_HASH_LABEL, WARM_POOL_LABEL];
const LISTS = [PROPAGATED_LABELS_ANNOTATION, PROPAGATED_ANNOTATIONS_ANNOTATION];

/**
 * Returns the metadata to answer for a Pod, so that Metacontroller removes the keys that the former controller managed
 * and the Sandbox does not want: the keys that this controller listed on the Pod, and the keys that depend on the
 * owner. All other keys stay.
 *
 * @param last the Pod as it was last applied; undefined: it was never applied
 */
function withInheritance(wanted: DesiredMeta, pod: Pod, last: Json | undefined): DesiredMeta {
  const applied = (last?.["metadata"] ?? {}) as DesiredMeta;
  const { labels, annotations = {} } = pod.metadata;
  const labelKeys = [...listed(annotations, PROPAGATED_LABELS_ANNOTATION), ...OWNER_LABELS];
  const annotationKeys = [...listed(annotations, PROPAGATED_ANNOTATIONS_ANNOTATION), ...LISTS];
  return {
    ...wanted,
    ...field("labels", merged(wanted.labels, labels, applied.labels, labelKeys)),
    ...field("annotations", merged(wanted.annotations, annotations, applied.annotations, annotationKeys)),
  };
}

function merged(wanted: StringMap = {}, observed: StringMap = {}, applied: StringMap = {}, keys: string[]): StringMap {
  const ours = new Set(keys);
  return withForeignFields(wanted, observed, applied, (key) => ours.has(key));
}

function field(name: "labels" | "annotations", map: StringMap): DesiredPart {
  return Object.keys(map).length > 0 ? { [name]: map } : {};
}

type DesiredPart = Pick<DesiredMeta, "labels" | "annotations">;

function listed(annotations: StringMap, annotation: string): string[] {
  return (annotations[annotation] ?? "").split(",").filter((key) => key !== "");
}
