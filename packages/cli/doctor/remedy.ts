/** Creates the `hookbox install` command that remedies recommend. @module */
import { SYSTEM_NAMESPACE } from "../../api/installation.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { pathOf } from "../../kube/api.ts";
import { itemsOf, type Patient, read } from "./check.ts";

const KEEPER = "app.kubernetes.io/part-of=hookbox,app.kubernetes.io/name=keeper";

/** Returns `hookbox install` with a placeholder for the image, and with the namespace if it is not the default. */
export async function installCommand(patient: Patient): Promise<string> {
  const answer = await read(patient, pathOf({ resource: "deployments" }), { labelSelector: KEEPER });
  const [namespace = SYSTEM_NAMESPACE, ...more] = (itemsOf<KubeObject>(answer) ?? []).map(({ metadata }) =>
    metadata.namespace
  );
  const where = namespace === SYSTEM_NAMESPACE || more.length > 0 ? "" : ` --system-namespace ${namespace}`;
  return `hookbox install --apply --image REGISTRY/hookbox:TAG${where}`;
}
