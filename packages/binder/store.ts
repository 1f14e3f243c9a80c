/**
 * Decides what the binder keeps of objects, and which of their changes matter to claims. Of a large object, it keeps
 * only what it reads regularly, and fetches the full object when it needs it. Otherwise a few hundred large objects
 * would fill the memory.
 * @module
 */
import { controllerOf, type ObjectMeta } from "../api/objects/objects.ts";
import type { Sandbox, SandboxStatus } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import {
  CLAIM_UID_LABEL,
  DRAINING_LABEL,
  EGRESS_ALLOW_ANNOTATION,
  EGRESS_HEADERS_ANNOTATION,
  FIRST_OBSERVED_ANNOTATION,
  FOR_CLAIM_ANNOTATION,
  LATE_BINDING_ANNOTATION,
  POOL_SEQUENCE_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
  SHARD_LABEL,
  TEMPLATE_HASH_LABEL,
  TEMPLATE_REF_HASH_LABEL,
  UNRESOLVED_ANNOTATION,
} from "../api/objects/keys.ts";
import { isLarge } from "../api/objects/size.ts";
import type { Api } from "../kube/api.ts";
import { findRaw } from "../kube/requests.ts";

/**
 * Size above which a full member or template is not kept, and is fetched when needed; in characters of keys and values.
 * Few objects reach a tenth.
 */
const MOST_KEPT_OF_OTHERS = 128 * 1024;
/** Values that users can write are kept only up to this length. */
const LONGEST_VALUE = 8192;

/**
 * What has changed: `counts`: the counts in a pool's status; `problem`: the annotation in which the keeper reports a
 * problem; `other`: something else, or nothing.
 */
export type NamedChange = "gone" | "spec" | "counts" | "problem" | "other";

/** Classifies a change of an object; `undefined`: the object did not exist before, or is gone. */
export function changeOf(before: Named | undefined, after: Named | undefined): NamedChange {
  if (!after) return "gone";
  if (!before || hasNewSpec(before, after)) return "spec";
  if (countsOtherwise(before, after)) return "counts";
  return problemIn(before) === problemIn(after) ? "other" : "problem";
}

type Counts = {
  [Count in "sequence" | "arrivedSequence" | "observedSequence" | "replicas" | "readyReplicas"]?: number | undefined;
};
type Named = { metadata: ObjectMeta; status?: Counts | undefined };

function hasNewSpec({ metadata: before }: Named, { metadata: after }: Named): boolean {
  return before.generation !== after.generation || before.deletionTimestamp !== after.deletionTimestamp;
}

function problemIn({ metadata }: Named): string | undefined {
  return metadata.annotations?.[UNRESOLVED_ANNOTATION];
}

/** Compares only the counts of the status; nothing else in it matters here. */
function countsOtherwise({ status: before }: Named, { status: after }: Named): boolean {
  return (["sequence", "arrivedSequence", "observedSequence", "replicas", "readyReplicas"] as const).some((key) =>
    before?.[key] !== after?.[key]
  );
}

/** The members and templates that are kept only as a projection. */
const projections = new WeakSet<Sandbox | SandboxTemplate>();

/** Returns whether the object is only a projection, so that the full member or template must be fetched. */
export function isProjection(object: Sandbox | SandboxTemplate): boolean {
  return projections.has(object);
}

/**
 * Returns what to keep of a member. If it is small, that is the member itself. If it is large, it is a projection with
 * its owner, its state, and the fields that decide its order.
 */
export function projectMember(sandbox: Sandbox): Sandbox {
  if (isProjection(sandbox) || !isLarge(sandbox, MOST_KEPT_OF_OTHERS)) return sandbox;
  const { apiVersion, kind, metadata, spec, status } = sandbox;
  const owner = controllerOf(metadata);
  const { operatingMode, shutdownTime, shutdownPolicy } = spec;
  const projection: Sandbox = {
    apiVersion,
    kind,
    metadata: {
      ...identityOf(metadata),
      labels: picked(metadata.labels, MEMBER_LABELS),
      annotations: picked(metadata.annotations, MEMBER_ANNOTATIONS),
      ...(owner && { ownerReferences: [owner] }),
    },
    spec: {
      operatingMode,
      shutdownPolicy,
      podTemplate: NO_POD,
      ...(shutdownTime === undefined ? {} : { shutdownTime }),
    },
    ...(status && { status: projectStatus(status) }),
  };
  projections.add(projection);
  return projection;
}

/**
 * Returns what to keep of a template. If it is small, that is the template itself. If it is large, it is a projection
 * without the Pod.
 */
export function projectTemplate(template: SandboxTemplate): SandboxTemplate {
  if (!isLarge(template, MOST_KEPT_OF_OTHERS)) return template;
  const { apiVersion, kind, metadata, spec } = template;
  const { networkPolicy, networkPolicyManagement, envVarsInjectionPolicy, volumeClaimTemplatesPolicy } = spec;
  const policies = { networkPolicyManagement, envVarsInjectionPolicy, volumeClaimTemplatesPolicy };
  const projection = {
    apiVersion,
    kind,
    metadata: {
      ...identityOf(metadata),
      annotations: {
        ...picked(metadata.annotations, [UNRESOLVED_ANNOTATION, LATE_BINDING_ANNOTATION]),
        // Only whether they exist matters.
        ...EGRESS_ANNOTATIONS.reduce(
          (kept, key) => metadata.annotations?.[key] === undefined ? kept : { ...kept, [key]: "" },
          {},
        ),
      },
    },
    spec: { podTemplate: NO_POD, ...policies, ...(networkPolicy && { networkPolicy: {} }) },
  };
  projections.add(projection);
  return projection;
}

/** Returns what to keep of a pool, without most of its metadata, which can be as large as any object. */
export function projectPool({ metadata, ...pool }: SandboxWarmPool): SandboxWarmPool {
  return { ...pool, metadata: { ...identityOf(metadata), labels: picked(metadata.labels, [SHARD_LABEL]) } };
}

/**
 * Returns what to keep of a claim: the fields that decide its standing, that identify it, and that show what its status
 * reports already.
 */
export function projectClaim({ apiVersion, kind, metadata, spec, status }: SandboxClaim): SandboxClaim {
  const { name, namespace, uid, generation, resourceVersion } = metadata;
  const { creationTimestamp, deletionTimestamp, annotations = {} } = metadata;
  const { warmPoolRef, lifecycle } = spec;
  const { shutdownTime, ttlSecondsAfterFinished, shutdownPolicy = "Retain" } = lifecycle ?? {};
  const reported = (status?.conditions ?? []).filter(({ type }) => type === "Ready" || type === "Finished");
  return {
    apiVersion,
    kind,
    metadata: {
      ...{ name, namespace, uid, generation, resourceVersion, creationTimestamp, deletionTimestamp },
      annotations: picked(annotations, [FIRST_OBSERVED_ANNOTATION, SANDBOX_NAME_ANNOTATION]),
    },
    spec: {
      warmPoolRef: { name: warmPoolRef.name },
      ...(lifecycle && { lifecycle: { shutdownTime, ttlSecondsAfterFinished, shutdownPolicy } }),
    },
    ...(status && {
      status: {
        // The message is needed only without a Sandbox: it is compared with the current reason why the claim is not
        // served.
        conditions: reported.map((condition) => ({
          ...condition,
          message: status.sandbox ? "" : keptMessage(condition.message),
        })),
        ...(status.sandbox && { sandbox: { name: status.sandbox.name } }),
      },
    }),
  };
}

/** Returns how much of a condition's message is kept of a claim without a Sandbox. */
export function keptMessage(message: string): string {
  return message.slice(0, LONGEST_VALUE);
}

/** Fetches a full member, not parsed; undefined if it has changed since, or is gone. @throws {Error} if the request fails */
export async function getMember(api: Api, { metadata }: Sandbox): Promise<Sandbox | undefined> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const sandbox = await findRaw<Sandbox>(api, { kind: "Sandbox", resource: "sandboxes", namespace, name });
  const isSame = sandbox?.metadata.uid === uid && sandbox?.metadata.resourceVersion === resourceVersion;
  return isSame ? sandbox : undefined;
}

/** The full templates of projections, until the garbage collector needs the memory. */
const asked = new WeakMap<SandboxTemplate, WeakRef<SandboxTemplate>>();

/** Fetches a full template; undefined if it is gone or invalid. @throws {Error} if the request fails */
export async function getTemplate(api: Api, projection: SandboxTemplate): Promise<SandboxTemplate | undefined> {
  const before = asked.get(projection)?.deref();
  if (before) return before;
  const { namespace, name } = projection.metadata;
  const found = await findRaw(api, { kind: "SandboxTemplate", resource: "sandboxtemplates", namespace, name });
  const template = sandboxTemplateSchema.safeParse(found).data;
  if (template) asked.set(projection, new WeakRef(template));
  return template;
}

const NO_POD = { spec: { containers: [] } };
const MEMBER_LABELS = [CLAIM_UID_LABEL, DRAINING_LABEL, TEMPLATE_HASH_LABEL, TEMPLATE_REF_HASH_LABEL];
const EGRESS_ANNOTATIONS = [EGRESS_ALLOW_ANNOTATION, EGRESS_HEADERS_ANNOTATION];
const MEMBER_ANNOTATIONS = [FOR_CLAIM_ANNOTATION, POOL_SEQUENCE_ANNOTATION];

function identityOf(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, generation, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  const known = { namespace, uid, generation, resourceVersion, creationTimestamp, deletionTimestamp };
  return { name, ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)) };
}

/** Returns the entries that have one of the keys and a value that is not too long. */
function picked(map: Record<string, string> = {}, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(map).filter(([key, value]) => keys.includes(key) && value.length <= LONGEST_VALUE),
  );
}

function projectStatus({ conditions = [], podIPs, nodeName }: SandboxStatus): SandboxStatus {
  const read = conditions.filter(({ type }) => type === "Ready" || type === "Finished");
  return {
    conditions: read.map((condition) => ({ ...condition, message: "" })),
    ...(podIPs && { podIPs: podIPs.slice(0, 2) }),
    ...(nodeName === undefined ? {} : { nodeName }),
  };
}

/** Returns what a claim's status reports of a Sandbox that has ended. */
export function projectEnd({ apiVersion, kind, metadata: { name }, status = {} }: Sandbox): Sandbox {
  const { conditions = [], podIPs } = status;
  const read = conditions.filter(({ type }) => type === "Ready" || type === "Finished");
  return {
    ...{ apiVersion, kind, metadata: { name } },
    spec: { podTemplate: NO_POD, operatingMode: "Running", shutdownPolicy: "Retain" },
    status: { conditions: read, ...(podIPs && { podIPs }) },
  };
}
