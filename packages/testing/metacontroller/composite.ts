/**
 * Syncs a parent of a CompositeController: claims children, calls the hook, updates children and the parent's status.
 * @module
 */
import { sameJson } from "../../api/objects/apply.ts";
import { controllerOf, controllerReference, type KubeObject } from "../../api/objects/objects.ts";
import { type LabelSelector, type Matcher, matcherOf } from "../store/selectors.ts";
import { editLive, isConflict, isNotFound, type Live, type Resource, withMetadata } from "../store/store.ts";
import { addObjects, groupFor, type Groups, manageChildren } from "./children.ts";
import type { Controller, ControllerKind, Parents } from "./controller.ts";
import {
  callHook,
  concerns,
  desiredGroups,
  managesChildren,
  removeFinalizer,
  scheduleResync,
  syncFinalizer,
} from "./sync.ts";

const UID_LABEL = "controller-uid";

export const composite: ControllerKind = {
  sync,
  adoption(controller, parent) {
    try {
      return selectorOf(controller, parent);
    } catch {
      return undefined;
    }
  },
};

async function sync(controller: Controller, parents: Parents, cached: KubeObject): Promise<void> {
  const { store, customize, strategies } = controller;
  let parent = await syncFinalizer(controller, parents, cached);
  if (!concerns(controller, parents, parent)) return;
  const observed = await observedChildren(controller, parents, parent);
  const related = await customize.related(parent);
  const answer = await callHook(controller, parents, parent, observed, related);
  scheduleResync(controller, parents, parent, answer["resyncAfterSeconds"]);
  if (answer["finalized"] === true) parent = await removeFinalizer(controller, parents.resource, parent);
  const desired = labelled(controller, parent, desiredGroups(answer["children"], parent));

  let failure: unknown;
  if (managesChildren(controller, parent)) {
    await manageChildren(store, strategies, parent, observed, desired).catch((error) => failure = error);
  }
  try {
    await replaceStatus(controller, parents, parent, answer["status"]);
  } catch (error) {
    // If the parent is deleted or has changed, its event causes another sync. A failure with children is then dropped,
    // too.
    if (isNotFound(error) || isConflict(error)) return;
    throw error;
  }
  if (failure !== undefined) throw failure;
}

/**
 * Returns the selector for a parent's children.
 *
 * @throws {RangeError} if the parent's `spec.selector` is missing or empty and none is generated
 */
function selectorOf({ definition }: Controller, parent: KubeObject): Matcher {
  if (definition.generateSelector) return matcherOf({ matchLabels: { [UID_LABEL]: parent.metadata.uid ?? "" } });
  const selector = (parent["spec"] as { selector?: LabelSelector } | undefined)?.selector;
  const size = Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions?.length ?? 0);
  if (size > 0) return matcherOf(selector);
  throw new RangeError(
    `Cannot select children of ${parent.kind} ${parent.metadata.name}: spec.selector is missing or empty`,
  );
}

async function observedChildren(
  controller: Controller,
  { resource: parentResource }: Parents,
  parent: KubeObject,
): Promise<Groups> {
  const claimant = { live: controller, parent, parentResource, matches: selectorOf(controller, parent) };
  const namespace = parentResource.namespaced ? parent.metadata.namespace : undefined;
  const groups: Groups = new Map();
  for (const { resource, informer } of controller.children) {
    groupFor(groups, resource);
    const candidates = [...informer.ownedBy(parent.metadata.uid ?? "", namespace), ...informer.orphans(namespace)];
    addObjects(groups, await claimChildren(claimant, resource, candidates));
  }
  return groups;
}

/** Adds the generated label where it is missing. Refuses children that do not match the parent's selector. */
function labelled(controller: Controller, parent: KubeObject, desired: Groups): Groups {
  const matches = selectorOf(controller, parent);
  const generated = { [UID_LABEL]: parent.metadata.uid ?? "" };
  for (const group of desired.values()) {
    for (const [key, child] of group.objects) {
      const labelsOfHook = child.metadata?.labels;
      if (labelsOfHook !== undefined && !isLabels(labelsOfHook)) {
        throw new TypeError(`Cannot use ${child.kind} ${key}: its labels are not all text`);
      }
      const labels = controller.definition.generateSelector ? { ...generated, ...labelsOfHook } : labelsOfHook;
      if (!matches(labels)) {
        throw new RangeError(`Cannot use ${child.kind} ${key}: its labels do not match the parent's selector`);
      }
      if (!sameJson(labels, labelsOfHook)) group.objects.set(key, withMetadata(child, { labels }));
    }
  }
  return desired;
}

function isLabels(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every((text) => typeof text === "string");
}

/** Replaces the whole status if it differs. `observedGeneration` is the generation of the parent that the hook got. */
async function replaceStatus(
  controller: Controller,
  { resource }: Parents,
  parent: KubeObject,
  answer: unknown,
): Promise<void> {
  const status = { ...(answer as object | null), observedGeneration: parent.metadata.generation };
  const write = resource.hasStatus ? "updateStatus" : "update";
  await editLive(
    controller,
    resource,
    parent,
    (live) => sameJson(live["status"], status) ? undefined : { ...live, status },
    write,
  );
}

interface Claimant {
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
async function claimChildren(
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
