/** How a pool answers with a Sandbox that exists: as it was last applied, so that nothing changes but what is meant. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { LAST_APPLIED_ANNOTATION, lastApplied, mergeApply, sameJson } from "../../lib/apply.ts";
import { DECORATOR_ANNOTATION } from "../../lib/keys.ts";
import { controllerReference, type PoolSandbox } from "./sandbox.ts";

/**
 * Returns a Sandbox of the pool as it was last applied.
 *
 * One that another controller has made is described anew: whole, so that from the next call on it is like our own.
 *
 * @throws {SyntaxError} if the last-applied annotation is not the JSON text of an object
 */
export function appliedOf(sandbox: Sandbox, pool: SandboxWarmPool): PoolSandbox {
  return isOurMaking(sandbox) ? lastApplied(sandbox) as unknown as PoolSandbox : described(sandbox, pool);
}

/** Tells whether a Sandbox can be handed over as it is: the swap and nothing else would survive Metacontroller's merge. */
export function isHandable(sandbox: Sandbox): boolean {
  if (!isOurMaking(sandbox)) return false;
  const { spec } = lastApplied(sandbox) as unknown as PoolSandbox;
  const observed = { spec: sandbox.spec };
  return sameJson(mergeApply(observed, { spec }, { spec }), observed);
}

/** The owner has to be among what was applied, or the merge would put the new one beside it. */
function isOurMaking(sandbox: Sandbox): boolean {
  const applied = lastApplied(sandbox) as unknown as PoolSandbox | undefined;
  return (applied?.metadata.ownerReferences ?? []).length > 0;
}

function described({ metadata, spec }: Sandbox, pool: SandboxWarmPool): PoolSandbox {
  const { podTemplate, volumeClaimTemplates, service } = spec;
  const { [LAST_APPLIED_ANNOTATION]: _, ...annotations } = metadata.annotations ?? {};
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name: metadata.name,
      labels: { ...metadata.labels },
      annotations: { ...annotations, [DECORATOR_ANNOTATION]: "sandboxclaim" },
      ownerReferences: [controllerReference(pool)],
    },
    spec: {
      podTemplate,
      ...(volumeClaimTemplates === undefined ? {} : { volumeClaimTemplates }),
      ...(service === undefined ? {} : { service }),
    },
  };
}
