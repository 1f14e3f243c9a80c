/**
 * What is kept whole: claims that are small and may be served next, members, templates and pools that are not large. Of the
 * others no more is kept than is read of every one; all of it is asked for when it is needed, or a few hundred large
 * objects would fill the memory.
 * @module
 */
import type { Sandbox, SandboxStatus } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import {
  CLAIM_UID_LABEL,
  DRAINING_LABEL,
  FIRST_OBSERVED_ANNOTATION,
  FOR_CLAIM_ANNOTATION,
  POOL_SEQUENCE_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
  SHARD_LABEL,
  TEMPLATE_HASH_LABEL,
  TEMPLATE_REF_HASH_LABEL,
  UNRESOLVED_ANNOTATION,
} from "../api/objects/keys.ts";
import { isLarge } from "../api/objects/large.ts";
import { controllerOf, type ObjectMeta } from "../api/objects/objects.ts";
import type { Api } from "../kube/api.ts";
import { findRaw } from "../kube/find.ts";
import { isNewer } from "./assume.ts";
import type { Entry } from "./state.ts";

/** Claims of more are asked for once more when they are served, in characters of keys and values. Few have a tenth. */
const MOST_KEPT = 16 * 1024;
/** The same of members and templates, which are needed more often. Few have a tenth. */
const MOST_KEPT_OF_OTHERS = 128 * 1024;
/** What anybody may write is kept up to this length. */
const LONGEST_VALUE = 8192;

/** Lets go of what is not read of a claim any more: it is large, or the hook's. */
export function keepLess(entry: Entry, isHooks: boolean): void {
  const { raw, place } = entry;
  // What is served is what was chosen for.
  if (!raw || place === "serving") return;
  if (!isHooks && !isLarge(raw, MOST_KEPT)) return;
  entry.claim = outline(entry.claim);
  entry.raw = undefined;
}

/** Takes over a claim as the API server has answered: as if the watch had shown it. @returns false: a newer one is known */
export function learn(entry: Entry, raw: SandboxClaim): boolean {
  const { resourceVersion = "" } = raw.metadata;
  if (isNewer(entry.assumed ?? entry.version, resourceVersion)) return false;
  const parsed = sandboxClaimSchema.safeParse(raw).data;
  if (parsed) Object.assign(entry, { claim: sharing(parsed, raw), raw, assumed: resourceVersion });
  return true;
}

/** Lets a parsed claim have those parts of the observed one that parsing leaves as they are, so that they are there once. */
export function sharing(claim: SandboxClaim, { spec }: SandboxClaim): SandboxClaim {
  const { env, volumeClaimTemplates, additionalPodMetadata } = spec;
  return {
    ...claim,
    spec: {
      ...claim.spec,
      ...(env && { env }),
      ...(volumeClaimTemplates && { volumeClaimTemplates }),
      ...(additionalPodMetadata && { additionalPodMetadata }),
    },
  };
}

/** Asks for all of a claim, untouched by a parser; undefined: it is gone. @throws {Error} if nobody knows */
export async function askForClaim(api: Api, { metadata }: SandboxClaim): Promise<SandboxClaim | undefined> {
  const { namespace, name, uid } = metadata;
  const claim = await findRaw<SandboxClaim>(api, { kind: "SandboxClaim", resource: "sandboxclaims", namespace, name });
  return claim?.metadata.uid === uid ? claim : undefined;
}

/** Members and templates of which no more is kept than is read of every one. */
const outlines = new WeakSet<Sandbox | SandboxTemplate>();

/** Tells whether all of a member or template has to be asked for. */
export function isOutline(object: Sandbox | SandboxTemplate): boolean {
  return outlines.has(object);
}

/** Returns what to keep of a member: itself, or of a large one what tells where it stands, and in whose turn it comes. */
export function memberToKeep(sandbox: Sandbox): Sandbox {
  if (isOutline(sandbox) || !isLarge(sandbox, MOST_KEPT_OF_OTHERS)) return sandbox;
  const { apiVersion, kind, metadata, spec, status } = sandbox;
  const owner = controllerOf(metadata);
  const { operatingMode, shutdownTime, shutdownPolicy } = spec;
  const outline: Sandbox = {
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
    ...(status && { status: outlineOfStatus(status) }),
  };
  outlines.add(outline);
  return outline;
}

/** Returns what to keep of a template: itself, or of a large one that it exists. */
export function templateToKeep(template: SandboxTemplate): SandboxTemplate {
  if (!isLarge(template, MOST_KEPT_OF_OTHERS)) return template;
  const { apiVersion, kind, metadata, spec } = template;
  const { networkPolicyManagement, envVarsInjectionPolicy, volumeClaimTemplatesPolicy } = spec;
  const policies = { networkPolicyManagement, envVarsInjectionPolicy, volumeClaimTemplatesPolicy };
  const outline = {
    apiVersion,
    kind,
    metadata: { ...identityOf(metadata), annotations: picked(metadata.annotations, [UNRESOLVED_ANNOTATION]) },
    spec: { podTemplate: NO_POD, ...policies },
  };
  outlines.add(outline);
  return outline;
}

/** Returns what to keep of a pool: its metadata has as much room as an object has. */
export function poolToKeep({ metadata, ...pool }: SandboxWarmPool): SandboxWarmPool {
  return { ...pool, metadata: { ...identityOf(metadata), labels: picked(metadata.labels, [SHARD_LABEL]) } };
}

/** Asks for all of a member, untouched by a parser; undefined: it has changed since, or is gone. @throws {Error} if nobody knows */
export async function askForMember(api: Api, { metadata }: Sandbox): Promise<Sandbox | undefined> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const sandbox = await findRaw<Sandbox>(api, { kind: "Sandbox", resource: "sandboxes", namespace, name });
  const isSame = sandbox?.metadata.uid === uid && sandbox?.metadata.resourceVersion === resourceVersion;
  return isSame ? sandbox : undefined;
}

/** All of templates of which outlines are kept, as long as nobody needs the memory. */
const asked = new WeakMap<SandboxTemplate, WeakRef<SandboxTemplate>>();

/** Asks for all of a template; undefined: it is gone, or cannot be read. @throws {Error} if nobody knows */
export async function askForTemplate(api: Api, outline: SandboxTemplate): Promise<SandboxTemplate | undefined> {
  const before = asked.get(outline)?.deref();
  if (before) return before;
  const { namespace, name } = outline.metadata;
  const found = await findRaw(api, { kind: "SandboxTemplate", resource: "sandboxtemplates", namespace, name });
  const template = sandboxTemplateSchema.safeParse(found).data;
  if (template) asked.set(outline, new WeakRef(template));
  return template;
}

const NO_POD = { spec: { containers: [] } };
const MEMBER_LABELS = [CLAIM_UID_LABEL, DRAINING_LABEL, TEMPLATE_HASH_LABEL, TEMPLATE_REF_HASH_LABEL];
const MEMBER_ANNOTATIONS = [FOR_CLAIM_ANNOTATION, POOL_SEQUENCE_ANNOTATION];

function identityOf(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, generation, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  const known = { namespace, uid, generation, resourceVersion, creationTimestamp, deletionTimestamp };
  return { name, ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)) };
}

function picked(map: Record<string, string> = {}, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(map).filter(([key, value]) => keys.includes(key) && value.length <= LONGEST_VALUE),
  );
}

function outlineOfStatus({ conditions = [], podIPs, nodeName }: SandboxStatus): SandboxStatus {
  const read = conditions.filter(({ type }) => type === "Ready" || type === "Finished");
  return {
    conditions: read.map((condition) => ({ ...condition, message: "" })),
    ...(podIPs && { podIPs: podIPs.slice(0, 2) }),
    ...(nodeName === undefined ? {} : { nodeName }),
  };
}

/** Returns what a claim reports of a Sandbox that has come to its end. */
export function outlineOfEnd({ apiVersion, kind, metadata: { name }, status = {} }: Sandbox): Sandbox {
  const { conditions = [], podIPs } = status;
  const read = conditions.filter(({ type }) => type === "Ready" || type === "Finished");
  return {
    ...{ apiVersion, kind, metadata: { name } },
    spec: { podTemplate: NO_POD, operatingMode: "Running", shutdownPolicy: "Retain" },
    status: { conditions: read, ...(podIPs && { podIPs }) },
  };
}

/** What is read of a claim to find its place, to name it, and to see whether it has heard what there is to say. */
function outline({ apiVersion, kind, metadata, spec, status }: SandboxClaim): SandboxClaim {
  const { name, namespace, uid, generation, creationTimestamp, deletionTimestamp, annotations = {} } = metadata;
  const { warmPoolRef, lifecycle } = spec;
  const { shutdownTime, ttlSecondsAfterFinished, shutdownPolicy = "Retain" } = lifecycle ?? {};
  const told = (status?.conditions ?? []).filter(({ type }) => type === "Ready" || type === "Finished");
  return {
    apiVersion,
    kind,
    metadata: {
      ...{ name, namespace, uid, generation, creationTimestamp, deletionTimestamp },
      annotations: picked(annotations, [FIRST_OBSERVED_ANNOTATION, SANDBOX_NAME_ANNOTATION]),
    },
    spec: {
      warmPoolRef: { name: warmPoolRef.name },
      ...(lifecycle && { lifecycle: { shutdownTime, ttlSecondsAfterFinished, shutdownPolicy } }),
    },
    ...(status && {
      status: {
        // A claim without a Sandbox is compared with what keeps it waiting.
        conditions: told.map((condition) => ({
          ...condition,
          message: status.sandbox ? "" : condition.message.slice(0, LONGEST_VALUE),
        })),
        ...(status.sandbox && { sandbox: { name: status.sandbox.name } }),
      },
    }),
  };
}
