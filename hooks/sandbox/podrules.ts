/**
 * What an answer may make of a Sandbox's Pod, for the guard: computed from the Sandbox, key by key, without the code that
 * builds the Pod. Source: Agent Sandbox API, section 2.3. @module
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

/**
 * Fields of a new Pod's spec that this hook sets where the template does not, and what they may be. A rule of your own in
 * `podSpec` (pod.ts) is declared here, or the guard refuses the Pods that it makes.
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

/** Returns the value of a label of the Pod; undefined: the Sandbox asks for none. */
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

/** Returns the value of an annotation of the Pod, but for the hash of its spec; undefined: the Sandbox asks for none. */
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
 * A label or annotation becomes what the Sandbox asks for, or goes where it asks for none. What another controller has left
 * on the Pod first becomes Metacontroller's, which then can remove it.
 */
function followsSandbox(
  { path: [, , key = ""], is, will, observed }: Change<Sandbox>,
  valueOf: (sandbox: Sandbox, key: string) => string | undefined,
  inherited: ReadonlySet<string>,
): boolean {
  // They say how a Pod came to be: that does not change while it exists.
  if (key === POD_SPEC_HASH_ANNOTATION || key === POD_LOSSES_ANNOTATION) return will === is;
  const wanted = valueOf(observed.parent, key);
  if (wanted !== undefined) return will === wanted;
  return will === undefined || (will === is && inherited.has(key));
}

/** The labels that follow a Pod's owner, and those that another controller noted on it as its own. */
const inheritedLabels = oncePer((pod: KubeObject) =>
  new Set([...OWNER_LABELS, ...listed(pod, PROPAGATED_LABELS_ANNOTATION)])
);
/** The same of annotations. */
const inheritedAnnotations = oncePer((pod: KubeObject) =>
  new Set([...LISTS, ...listed(pod, PROPAGATED_ANNOTATIONS_ANNOTATION)])
);

function listed({ metadata }: KubeObject, annotation: string): string[] {
  return valueOf(metadata.annotations, annotation)?.split(",") ?? [];
}

function wrongWithPod(pod: DesiredObject, { parent, children }: Observed<Sandbox>): string[] {
  if (Object.keys(children["Pod.v1"] ?? {}).length > 0) return ["a second Pod"];
  const claims = new Set(
    Object.values(children["PersistentVolumeClaim.v1"] ?? {}).map(({ metadata }) => metadata.name),
  );
  // One that is not seen to be the Sandbox's own may be another's.
  if (volumeTemplates(parent).some(({ claimName }) => !claims.has(claimName))) return ["a Pod before its volumes"];
  if (parent.spec.operatingMode !== "Running") return ["a Pod of a suspended Sandbox"];
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

/** The annotation of a Pod that follows a lost one, if it has the right form: nothing but that depends on it. */
function lossesOf({ metadata }: DesiredObject): StringMap {
  const value = valueOf(metadata.annotations, POD_LOSSES_ANNOTATION);
  const isRight = value !== undefined && /^[1-9]\d{0,9} \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
  return isRight ? { [POD_LOSSES_ANNOTATION]: value } : {};
}

/** The template's spec, and each of the Sandbox's volumes in place of the template's of that name; nothing else. */
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

/** A volume that a Sandbox asks for: its name in the Pod, and that of its claim. Of two with one name the first counts. */
interface WantedVolume {
  volume: string;
  claimName: string;
  template: VolumeClaimTemplate;
}

/** Lists the volumes that a Sandbox asks for. */
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
