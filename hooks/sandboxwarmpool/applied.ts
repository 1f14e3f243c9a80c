/**
 * Describes an existing Sandbox of a pool as it was last applied, so that an answer changes only what it is meant to
 * change. @module
 */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { isUnchangedByMerge } from "../../packages/api/objects/apply.ts";
import { CLAIM_CONTROLLER, CONTROLLER_UID_LABEL, DECORATOR_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { isObject, type Json } from "../../packages/api/objects/json.ts";
import { controllerOf, controllerReference } from "../../packages/api/objects/objects.ts";
import { appliedTo, oncePer } from "../../packages/webhook/once.ts";
import { identityOf } from "../../packages/webhook/unchanged.ts";
import { type PoolSandbox, SANDBOX } from "./sandbox.ts";

type Applied = PoolSandbox | "broken" | undefined;

/** Reads the last-applied annotation of a Sandbox. Undefined: it has none. `broken`: it cannot be read or merged. */
export const readApplied = oncePer((sandbox: Sandbox): Applied => {
  const applied = appliedTo(sandbox);
  if (applied === "broken" || (applied && !isShaped(applied))) return "broken";
  return applied as unknown as PoolSandbox | undefined;
});

/**
 * Tells whether the annotation's content has the form on which the hook relies: everybody who may write Sandboxes may
 * write the annotation. A pool never sets the time at which a member ends. With a member that has one, the guard would
 * refuse the whole answer of the pool.
 */
export function isShaped({ metadata, spec = {} }: Json): boolean {
  if (!isObject(metadata) || !isObject(spec)) return false;
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const { podTemplate = {} } = spec;
  if (["operatingMode", "shutdownTime", "shutdownPolicy"].some((field) => field in spec)) return false;
  const areTexts = (map: unknown) => isObject(map) && Object.values(map).every((value) => typeof value === "string");
  return [labels, annotations].every(areTexts) && isObject(podTemplate) && Array.isArray(ownerReferences) &&
    ownerReferences.every(isObject);
}

/**
 * Returns a Sandbox of the pool as it was last applied. If the annotation cannot be read, returns only the name.
 *
 * A Sandbox of another controller, which was never applied, is described completely. From the next call on it is like a
 * Sandbox of this pool. Owner and `controller-uid` are always this pool's. A Sandbox that was returned to the pool had
 * others, and Metacontroller refuses an answer with the wrong ones.
 */
export function appliedOf(sandbox: Sandbox, pool: SandboxWarmPool): PoolSandbox {
  const applied = readApplied(sandbox);
  if (applied === "broken") return { ...SANDBOX, metadata: { name: sandbox.metadata.name } };
  if (!applied) return described(sandbox, pool);
  const { [CONTROLLER_UID_LABEL]: uid, ...labels } = applied.metadata.labels ?? {};
  return {
    ...applied,
    ...SANDBOX,
    metadata: {
      ...applied.metadata,
      ...identityOf(sandbox, applied.metadata),
      labels: uid === undefined ? labels : { ...labels, [CONTROLLER_UID_LABEL]: pool.metadata.uid ?? uid },
      ownerReferences: [controllerReference(pool)],
    },
  };
}

/**
 * Tells whether a Sandbox can be bound as it is: Metacontroller's merge would change only its owner and labels.
 *
 * The last-applied annotation must contain the current owner. Otherwise the merge would add the new owner without
 * removing the old one.
 */
export function isHandable(sandbox: Sandbox): boolean {
  const applied = readApplied(sandbox);
  const owner = controllerOf(sandbox.metadata)?.name;
  if (applied === "broken" || !applied?.metadata.ownerReferences?.some(({ name }) => name === owner)) return false;
  const { spec } = applied;
  return isUnchangedByMerge({ spec: sandbox.spec }, { spec }, { spec });
}

function described({ metadata, spec }: Sandbox, pool: SandboxWarmPool): PoolSandbox {
  const { podTemplate, volumeClaimTemplates, service } = spec;
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name: metadata.name,
      labels: { ...metadata.labels },
      annotations: { ...metadata.annotations, [DECORATOR_ANNOTATION]: CLAIM_CONTROLLER },
      ownerReferences: [controllerReference(pool)],
    },
    spec: {
      podTemplate,
      ...(volumeClaimTemplates === undefined ? {} : { volumeClaimTemplates }),
      ...(service === undefined ? {} : { service }),
    },
  };
}
