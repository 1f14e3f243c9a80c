/** Detects CRD versions that an installation would remove, and conversion webhooks that it would leave. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { Failure } from "../failure.ts";

/** The fields of a CRD that concern its versions (apiextensions.k8s.io/v1). */
export interface VersionedCRD extends KubeObject {
  spec: {
    conversion?: { strategy?: string; webhook?: { clientConfig?: { service?: { namespace: string; name?: string } } } };
    versions: { name: string; served: boolean; storage: boolean }[];
  };
  status?: { storedVersions?: string[] };
}

/** How to continue to serve v1alpha1. */
export const KEEP_V1ALPHA1 = "apply deploy/v1alpha1, or set v1alpha1.enabled of the chart";

/** Returns the versions of a CRD that `wanted` lacks although they are served, or objects are stored in them. */
export function withdrawnVersions(live: VersionedCRD, wanted: { spec: { versions: { name: string }[] } }): string[] {
  const used = live.spec.versions.filter(({ served, storage }) => served || storage).map(({ name }) => name);
  const all = new Set([...used, ...live.status?.storedVersions ?? []]);
  return [...all].filter((name) => !wanted.spec.versions.some((version) => version.name === name));
}

/** Name of the Service of the hook that converts between versions (deploy/v1alpha1/). */
const CONVERSION = "conversion";

/**
 * Refuses to apply a CRD that would remove versions. With `force`, versions of another controller may be removed if no
 * objects are stored in them: hookbox then takes over its CRDs.
 *
 * @throws {Failure}
 */
export function checkVersions(live: VersionedCRD, wanted: VersionedCRD, force: boolean): void {
  const withdrawn = withdrawnVersions(live, wanted);
  if (withdrawn.length === 0) return;
  const versions = withdrawn.join(", ");
  const isStored = withdrawn.some((name) => live.status?.storedVersions?.includes(name));
  const isOurs = live.spec.conversion?.webhook?.clientConfig?.service?.name === CONVERSION;
  if (force && !isStored && !isOurs) return;
  const drop = isStored
    ? `Where nobody needs ${versions}, migrate the stored objects first.`
    : isOurs
    ? `Where nobody needs ${versions}: kubectl apply --server-side --force-conflicts -k crds`
    : `Where nobody needs ${versions}, --force takes over the CRD of the other controller.`;
  throw new Failure(
    `Cannot apply CustomResourceDefinition ${wanted.metadata.name}: it would withdraw ${versions}, which the cluster ` +
      `${isStored ? "stores" : "serves"}${isStored || isOurs ? "; --force does not change that" : ""}`,
    `To keep ${versions}, ${KEEP_V1ALPHA1}, for the CRDs, then: hookbox install --apply --no-crds. ${drop}`,
  );
}

/** Returns whether `live` names a conversion webhook, but `wanted` does not use one. */
export function leavesWebhook(live: VersionedCRD, wanted: VersionedCRD): boolean {
  return live.spec.conversion?.webhook !== undefined && wanted.spec.conversion?.strategy !== "Webhook";
}

/**
 * Returns whether API servers use a hook in this namespace to convert between versions of a CRD. A webhook in another
 * namespace continues to work without hookbox.
 */
export function isConvertedIn({ spec: { conversion } }: VersionedCRD, namespace: string): boolean {
  if (conversion?.strategy !== "Webhook") return false;
  const { namespace: home = namespace } = conversion.webhook?.clientConfig?.service ?? {};
  return home === namespace;
}
