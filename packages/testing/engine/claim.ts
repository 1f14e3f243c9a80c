/** Determines the children of a composite: claims, adopts and releases objects. @module */
import { controllerOf, controllerReference, type KubeObject } from "../../api/objects/objects.ts";
import { editLive, type Live, withMetadata } from "./live.ts";
import type { Matcher } from "./selector.ts";
import { isNotFound, type Resource } from "./store.ts";

export interface Claimant {
  live: Live;
  parent: KubeObject;
  parentResource: Resource;
  /** The parent's selector, for labels of children. */
  matches: Matcher;
}

/**
 * Returns the candidates that are children of the parent. Adopts and releases objects where necessary.
 *
 * | controller of the object | labels match | result |
 * |---|---|---|
 * | another one | any | ignored |
 * | the parent | yes | claimed, terminating or not |
 * | the parent | no | released, unless the parent is being deleted |
 * | none | yes | adopted, unless the object or the parent is being deleted |
 * | none | no | ignored |
 *
 * @throws {Error} with all failures; a deleted object is not a failure
 */
export async function claimChildren(
  claimant: Claimant,
  resource: Resource,
  candidates: KubeObject[],
): Promise<KubeObject[]> {
  const claimed: KubeObject[] = [];
  const failures: string[] = [];
  let checked: Promise<void> | undefined;
  const mayAdopt = () => checked ??= checkParentAlive(claimant);
  for (const child of candidates) {
    try {
      if (await claim(claimant, resource, child, mayAdopt)) claimed.push(child);
    } catch (error) {
      if (!isNotFound(error)) failures.push(`${resource.kind} ${child.metadata.name}: ${(error as Error).message}`);
    }
  }
  if (failures.length > 0) throw new Error(`Cannot claim children: ${failures.join("; ")}`);
  return claimed;
}

async function claim(
  claimant: Claimant,
  resource: Resource,
  child: KubeObject,
  mayAdopt: () => Promise<void>,
): Promise<boolean> {
  const { live, parent, matches } = claimant;
  const uid = parent.metadata.uid;
  const owner = controllerOf(child.metadata);
  const matching = matches(child.metadata.labels);
  if (owner && owner.uid !== uid) return false;
  if (owner && matching) return true;
  if (parent.metadata.deletionTimestamp) return false;
  if (owner) {
    await editOwners(live, resource, child, (owners) => owners.filter((ref) => ref.uid !== uid));
    return false;
  }
  if (!matching || child.metadata.deletionTimestamp) return false;
  await mayAdopt();
  const ours = controllerReference(parent);
  await editOwners(
    live,
    resource,
    child,
    (owners) =>
      owners.some((ref) => ref.uid === uid) ? owners.map((ref) => ref.uid === uid ? ours : ref) : [...owners, ours],
  );
  return true;
}

type Owners = NonNullable<KubeObject["metadata"]["ownerReferences"]>;

async function editOwners(
  live: Live,
  resource: Resource,
  child: KubeObject,
  edit: (owners: Owners) => Owners,
): Promise<void> {
  await editLive(
    live,
    resource,
    child,
    (found) => withMetadata(found, { ownerReferences: edit(found.metadata.ownerReferences ?? []) }),
  );
}

/** Reads the parent from the store, not from the cache: a deleted or replaced parent must not adopt children. */
async function checkParentAlive({ live: { store }, parent, parentResource }: Claimant): Promise<void> {
  const { namespace, name, uid } = parent.metadata;
  const found = await store.get(parentResource, namespace, name);
  if (found.metadata.uid !== uid) throw new Error(`Cannot adopt: another ${parent.kind} has the name ${name}`);
  if (found.metadata.deletionTimestamp) throw new Error(`Cannot adopt: ${parent.kind} ${name} is being deleted`);
}
