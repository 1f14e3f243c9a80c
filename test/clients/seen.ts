/** Waits for a watch, which may lag behind what kubectl shows. @module */
import type { History } from "../integration/history.ts";
import { until } from "../integration/kubectl.ts";
import type { Loose } from "../integration/namespace.ts";

/** Waits until the watch has shown this version of the claim, and returns all that it has shown of it, in order. */
export async function versionsUpTo(history: History, claim: Loose): Promise<Loose[]> {
  const { name, resourceVersion } = claim.metadata;
  const isThere = (versions: Loose[]) => versions.some(({ metadata }) => metadata.resourceVersion === resourceVersion);
  return await until(() => Promise.resolve(history.versions.get(name) ?? []), isThere);
}
