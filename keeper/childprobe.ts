/** What the keeper asks and tells the API server about one child of a Sandbox. Decides nothing. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { applyCreate } from "../lib/apply.ts";
import { CONTROLLER_UID_LABEL } from "../lib/keys.ts";
import { type KubeObject, kubeObjectSchema } from "../lib/objects.ts";
import { type Answer, type Api, pathOf } from "../kube/api.ts";
import { type Child, RESOURCES } from "./children.ts";
import { findObject } from "./findobject.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";

/** Reads what exists under the child's name; undefined: nothing. */
export async function findChild(
  api: Api,
  sandbox: Sandbox,
  { kind, name }: Pick<Child, "kind" | "name">,
): Promise<KubeObject | undefined> {
  const { namespace } = sandbox.metadata;
  return await findObject(api, { resource: RESOURCES[kind], namespace, name }, kubeObjectSchema);
}

/**
 * Labels an object as the Sandbox's, so that Metacontroller adopts it.
 *
 * @returns false if it has changed or gone meanwhile: look again
 */
export async function offerForAdoption(api: Api, { metadata: { uid } }: Sandbox, object: KubeObject): Promise<boolean> {
  const { kind, metadata } = object;
  const target = { kind, resource: RESOURCES[kind as Child["kind"]], metadata };
  return await sendPatch(api, target, patchOf(metadata, { labels: { [CONTROLLER_UID_LABEL]: uid } }));
}

/** Asks what would become of the child if Metacontroller created it now. Creates nothing. */
export async function tryToCreate(api: Api, { metadata }: Sandbox, { kind, desired }: Child): Promise<Answer> {
  const labels = { ...desired.metadata.labels, [CONTROLLER_UID_LABEL]: metadata.uid ?? "" };
  const path = pathOf({ resource: RESOURCES[kind], namespace: metadata.namespace });
  const query = { dryRun: "All", fieldManager: "hookbox-keeper" };
  const body = applyCreate({ ...desired, metadata: { ...desired.metadata, labels } });
  return await api.send({ method: "POST", path, query, body });
}
