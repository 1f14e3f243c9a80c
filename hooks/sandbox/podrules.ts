/**
 * Declares for the guard how an answer may create and change a Sandbox's Pod. The rules are computed from the Sandbox, key by
 * key, without the code that builds the Pod. Source: Agent Sandbox API, section 2.3. @module
 */
import type { V1PodSpec } from "@kubernetes/client-node";
import type { Sandbox, VolumeClaimTemplate } from "../../packages/api/sandbox.ts";
import { canonicalJson } from "../../packages/api/objects/apply.ts";
import { isObject } from "../../packages/api/objects/json.ts";
import {
  CLAIM_UID_LABEL,
  CONTROLLER_UID_LABEL,
  CREATED_BY_LABEL,
  NAME_HASH_LABEL,
  POD_LOSSES_ANNOTATION,
  POD_SPEC_HASH_ANNOTATION,
  PROPAGATED_ANNOTATIONS_ANNOTATION,
  PROPAGATED_LABELS_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
  TRACE_CONTEXT_ANNOTATION,
  WARM_POOL_LABEL,
} from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import { type DesiredObject, groupOf, type KubeObject } from "../../packages/api/objects/objects.ts";
import { type Change, type ChildRule, isSpecLeftAlone } from "../../packages/webhook/childrules.ts";
import { differences } from "../../packages/webhook/fieldchanges.ts";
import type { Observed } from "../../packages/webhook/metacontroller.ts";
import { oncePer } from "../../packages/webhook/once.ts";
import { isExpired } from "./deletionreasons.ts";

/**
 * Fields of a new Pod's spec that this hook sets if the template does not, and their allowed values. If you add a rule to
 * `podSpec` (pod.ts), declare it here. Otherwise the guard refuses the Pods.
 */
const ADDED_FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {};

/** Labels that this hook adds to every Pod, with their values. Declare here a label that you add in `podLabels` (pod.ts). */
const ADDED_LABELS: Readonly<Record<string, string>> = {};

export const podRule: ChildRule<Sandbox> = {
  resource: "pods",
  updateStrategy: "InPlace",
  mayChange: {
    "metadata.labels": (change) => followsSandbox(change, labelOf, inheritedLabels(change.child)),
    "metadata.annotations": (change) => followsSandbox(change, annotationOf, inheritedAnnotations(change.child)),
    spec: (change) => isSpecLeftAlone(change),
  },
  wrongWith: wrongWithPod,
};

type StringMap = Record<string, string>;

const KEPT_FROM_PODS = ["agents.x-k8s.io/", "extensions.agents.x-k8s.io/", "metacontroller.k8s.io/"];
const OWNER_LABELS = [CLAIM_UID_LABEL, CREATED_BY_LABEL, TEMPLATE_REF_HASH_LABEL, WARM_POOL_LABEL];
const LISTS = [PROPAGATED_LABELS_ANNOTATION, PROPAGATED_ANNOTATIONS_ANNOTATION];
const CLIENTS = ["go-client", "python-client", "controller"];

/** Returns the value that a label of the Pod must have; undefined: the Sandbox does not ask for the label. */
function labelOf({ metadata, spec }: Sandbox, key: string): string | undefined {
  if (key === NAME_HASH_LABEL) return nameHash(metadata.name);
  if (Object.hasOwn(ADDED_LABELS, key)) return ADDED_LABELS[key];
  if (!OWNER_LABELS.includes(key)) return isForPods(key) ? valueOf(spec.podTemplate.metadata?.labels, key) : undefined;
  const value = valueOf(metadata.labels, key);
  if (key === CREATED_BY_LABEL) return value === undefined || CLIENTS.includes(value) ? value : "unknown";
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (!owner || groupOf(owner.apiVersion) !== "extensions.agents.x-k8s.io") return undefined;
  const isOwners = { [CLAIM_UID_LABEL]: "SandboxClaim", [WARM_POOL_LABEL]: "SandboxWarmPool" }[key] ?? owner.kind;
  return isOwners === owner.kind ? value : undefined;
}

/** The same for an annotation, except for the hash of the Pod's spec. */
function annotationOf({ spec }: Sandbox, key: string): string | undefined {
  const { labels, annotations } = spec.podTemplate.metadata ?? {};
  if (key === PROPAGATED_LABELS_ANNOTATION) return keyList(labels, isForPods);
  if (key === PROPAGATED_ANNOTATIONS_ANNOTATION) return keyList(annotations, isPodAnnotation);
  return isPodAnnotation(key) ? valueOf(annotations, key) : undefined;
}

function isForPods(key: string): boolean {
  return key !== CONTROLLER_UID_LABEL && !KEPT_FROM_PODS.some((prefix) => key.startsWith(prefix));
}

function isPodAnnotation(key: string): boolean {
  return isForPods(key) && key !== TRACE_CONTEXT_ANNOTATION;
}

function keyList(map: StringMap = {}, isListed: (key: string) => boolean): string | undefined {
  return Object.keys(map).filter(isListed).sort().join(",") || undefined;
}

function valueOf(map: StringMap = {}, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/**
 * A label or annotation may change to the value that the Sandbox asks for, or be removed if the Sandbox does not ask for it.
 * A value of another controller may first become Metacontroller's unchanged, so that Metacontroller can remove it later.
 */
function followsSandbox(
  { path: [, , key = ""], is, will, observed }: Change<Sandbox>,
  valueOf: (sandbox: Sandbox, key: string) => string | undefined,
  inherited: ReadonlySet<string>,
): boolean {
  // They describe how the Pod was created, so they never change while it exists.
  if (key === POD_SPEC_HASH_ANNOTATION || key === POD_LOSSES_ANNOTATION) return will === is;
  const wanted = valueOf(observed.parent, key);
  if (wanted !== undefined) return will === wanted;
  return will === undefined || (will === is && inherited.has(key));
}

/** The labels that depend on a Pod's owner, and the labels that another controller has listed in an annotation as its own. */
const inheritedLabels = oncePer((pod: KubeObject) =>
  new Set([...OWNER_LABELS, ...listed(pod, PROPAGATED_LABELS_ANNOTATION)])
);
/** The same for annotations. */
const inheritedAnnotations = oncePer((pod: KubeObject) =>
  new Set([...LISTS, ...listed(pod, PROPAGATED_ANNOTATIONS_ANNOTATION)])
);

function listed({ metadata }: KubeObject, annotation: string): string[] {
  return valueOf(metadata.annotations, annotation)?.split(",") ?? [];
}

function wrongWithPod(pod: DesiredObject, { parent, children }: Observed<Sandbox>, now: Date): string[] {
  if (Object.keys(children["Pod.v1"] ?? {}).length > 0) return ["a second Pod"];
  const claims = new Set(
    Object.values(children["PersistentVolumeClaim.v1"] ?? {}).map(({ metadata }) => metadata.name),
  );
  // A PersistentVolumeClaim that is not observed as the Sandbox's child may belong to another Sandbox.
  if (volumeTemplates(parent).some(({ claimName }) => !claims.has(claimName))) return ["a Pod before its volumes"];
  if (parent.spec.operatingMode !== "Running") return ["a Pod of a suspended Sandbox"];
  if (isExpired(parent, now)) return ["a Pod of an expired Sandbox"];
  const { spec, ...rest } = pod;
  const { labels = {}, annotations = {} } = parent.spec.podTemplate.metadata ?? {};
  return [
    ...differences(rest, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: parent.metadata.name,
        labels: mapOf(
          [...Object.keys({ ...labels, ...ADDED_LABELS }), NAME_HASH_LABEL, ...OWNER_LABELS],
          (key) => labelOf(parent, key),
        ),
        annotations: {
          ...mapOf([...Object.keys(annotations), ...LISTS], (key) => annotationOf(parent, key)),
          [POD_SPEC_HASH_ANNOTATION]: specHash(parent),
          ...lossesOf(pod),
        },
      },
    }),
    ...wrongInSpec(spec, parent),
  ];
}

/** The annotation of a Pod that follows a lost one, if its form is right. Its values only affect the next waits. */
function lossesOf({ metadata }: DesiredObject): StringMap {
  const value = valueOf(metadata.annotations, POD_LOSSES_ANNOTATION);
  const isRight = value !== undefined && /^[1-9]\d{0,9} \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
  return isRight ? { [POD_LOSSES_ANNOTATION]: value } : {};
}

/** The template's spec, in which each volume of the Sandbox replaces the template's volume of that name. */
function wrongInSpec(spec: unknown, parent: Sandbox): string[] {
  const { volumes = [], ...wanted } = parent.spec.podTemplate.spec as V1PodSpec;
  const { volumes: made = [], ...rest } = isObject(spec) ? spec : {};
  const own = new Map(volumeTemplates(parent).map(({ volume, claimName }) => [volume, claimName]));
  const expected = [
    ...volumes.filter(({ name }) => !own.has(name)),
    ...[...own].map(([name, claimName]) => ({ name, persistentVolumeClaim: { claimName } })),
  ];
  const added = Object.entries(rest).filter(([field, value]) =>
    !Object.hasOwn(wanted, field) && Object.hasOwn(ADDED_FIELDS, field) && ADDED_FIELDS[field]?.(value) === true
  );
  return [
    ...differences(rest, { ...wanted, ...Object.fromEntries(added) }, ["spec"]),
    ...differences(made, expected, ["spec", "volumes"]),
  ];
}

function specHash(parent: Sandbox): string {
  return nameHash(canonicalJson([parent.spec.podTemplate.spec, volumeTemplates(parent).map(({ volume }) => volume)]));
}

function mapOf(keys: readonly string[], valueOf: (key: string) => string | undefined): StringMap {
  const entries = keys.map((key) => [key, valueOf(key)] as const);
  return Object.fromEntries(entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}

/** A volume that a Sandbox asks for: its name in the Pod, and the name of its PersistentVolumeClaim. */
interface WantedVolume {
  volume: string;
  claimName: string;
  template: VolumeClaimTemplate;
}

/** Lists the volumes that a Sandbox asks for. If two have the same name, the first counts. */
export function volumeTemplates({ metadata: { name }, spec }: Sandbox): WantedVolume[] {
  const found: WantedVolume[] = [];
  const seen = new Set<string>();
  for (const template of spec.volumeClaimTemplates ?? []) {
    const volume = template.metadata?.name ?? "";
    if (seen.has(volume)) continue;
    seen.add(volume);
    found.push({ volume, claimName: `${volume}-${name}`, template });
  }
  return found;
}
