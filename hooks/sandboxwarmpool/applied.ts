/** How a pool answers with a Sandbox that exists: as it was last applied, so that nothing changes but what is meant. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { isUnchangedByMerge } from "../../packages/api/objects/unchangedbymerge.ts";
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
 * Tells whether it is of the shape that is relied upon: whoever may write Sandboxes may write the annotation. A pool never
 * says when a member ends: the guard would refuse to answer with one that does, and the whole pool with it.
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
 * Returns a Sandbox of the pool as it was last applied; of one for which that cannot be read, no more than its name.
 *
 * One that another controller has made is described anew: whole, so that from the next call on it is like our own.
 * Owner and `controller-uid` are always this pool's: one that it was given back had others, and Metacontroller refuses
 * an answer with the wrong ones.
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
 * Tells whether a Sandbox can be handed over as it is: the swap and nothing else would survive Metacontroller's merge.
 *
 * Its owner has to be among what was applied, or the merge would put the new one beside it.
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
