/** Sets the images of Deployments to those that are running in the cluster. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Api, isOk, messageOf, pathOf } from "../../kube/api.ts";
import { Failure } from "../failure.ts";

/** The fields of a Deployment that concern images (apps/v1). */
interface Deployment extends KubeObject {
  spec: { template: { spec: { containers: { name: string; image?: string | undefined }[] } } };
}

/**
 * Returns the objects. Each Deployment gets the images of the Deployment of its name in the cluster.
 *
 * @param isTrial in a dry run, Deployments that do not exist keep the image in `objects`, which need not exist in a
 * registry
 * @throws {Failure} if a Deployment cannot be read, or, outside of a dry run, does not exist
 */
export async function keepImages(api: Api, objects: readonly KubeObject[], isTrial: boolean): Promise<KubeObject[]> {
  const missing: string[] = [];
  const kept = await Promise.all(objects.map(async (object) => {
    if (object.kind !== "Deployment") return object;
    const deployment = await withLiveImages(api, object as Deployment);
    if (!deployment) missing.push(`${object.metadata.namespace}/${object.metadata.name}`);
    return deployment ?? object;
  }));
  if (isTrial || missing.length === 0) return kept;
  const which = missing.sort().join(", ");
  throw new Failure(
    `Cannot choose an image: these Deployments are not there yet, which would say it: ${which}`,
    "Name one that nodes can pull: --image REGISTRY/hookbox:TAG",
  );
}

/** Undefined if the Deployment does not exist, or lacks a container. */
async function withLiveImages(api: Api, wanted: Deployment): Promise<Deployment | undefined> {
  const { namespace, name } = wanted.metadata;
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "deployments", namespace, name }) });
  if (answer.status === 404) return undefined;
  if (!isOk(answer)) throw new Failure(`Cannot read the image of Deployment ${name}: ${messageOf(answer)}`);
  const live = new Map((answer.body as Deployment).spec.template.spec.containers.map((one) => [one.name, one.image]));
  const { template } = wanted.spec;
  const containers = template.spec.containers.map((one) => ({ ...one, image: live.get(one.name) }));
  if (containers.some(({ image }) => image === undefined)) return undefined;
  return { ...wanted, spec: { ...wanted.spec, template: { ...template, spec: { ...template.spec, containers } } } };
}
