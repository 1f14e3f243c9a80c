/** Decides which parents of a controller a change enqueues. @module */
import { sameJson } from "../../api/objects/apply.ts";
import { controllerOf, type KubeObject, type OwnerReference } from "../../api/objects/objects.ts";
import type { Controller, Flavour, Parents } from "./controller.ts";
import type { Change } from "./informer.ts";
import { groupOf } from "./store.ts";
import { concerns } from "./sync.ts";

/** Enqueues every parent now, and then those that a change concerns, until the returned function is called. */
export function subscribe(controller: Controller, flavour: Flavour): () => void {
  const { parents, children, customize, definition, store } = controller;
  const all = () => parents.flatMap((entry) => entry.informer.list().map((parent) => ({ entry, parent })));
  const ends = parents.map((entry) => entry.informer.subscribe((change) => onParent(controller, entry, change)));
  for (const { informer } of children) ends.push(informer.subscribe((change) => onChild(controller, flavour, change)));
  customize.start(() =>
    all().map(({ entry, parent }) => ({
      parent,
      resource: entry.resource,
      wake: () => wake(controller, entry, parent),
    }))
  );
  if (definition.resyncPeriodSeconds !== undefined) {
    const period = Math.max(definition.resyncPeriodSeconds, 1) * 1000;
    let cancel = () => {};
    const schedule = () =>
      cancel = store.clock.setTimeout(() => {
        schedule();
        for (const { entry, parent } of all()) wake(controller, entry, parent);
      }, period);
    schedule();
    ends.push(() => cancel());
  }
  return () => ends.forEach((end) => end());
}

function wake(controller: Controller, entry: Parents, parent: KubeObject): void {
  if (concerns(controller, entry, parent)) controller.enqueue(entry, parent);
}

function onParent(controller: Controller, entry: Parents, { old, current }: Change): void {
  const parent = current ?? old;
  if (!parent) return;
  if (entry.rule.ignoreStatusChanges && old && current && old !== current && isStatusChange(old, current)) return;
  wake(controller, entry, parent);
}

/** Like in Metacontroller, a change of only finalizers or ownerReferences counts as a change of the status. */
function isStatusChange({ metadata: old }: KubeObject, { metadata: current }: KubeObject): boolean {
  return old.generation === current.generation && sameJson(old.labels, current.labels) &&
    sameJson(old.annotations, current.annotations) && !current.deletionTimestamp;
}

/**
 * A child enqueues the parent that controls it now, not an earlier one. Without a controller, it enqueues all parents
 * that would adopt it.
 */
function onChild(controller: Controller, flavour: Flavour, { old, current }: Change): void {
  if (old && current && old.metadata.resourceVersion === current.metadata.resourceVersion) return;
  const child = current ?? old;
  if (!child) return;
  const owner = controllerOf(child.metadata);
  if (owner) wakeOwner(controller, child.metadata.namespace, owner);
  else if (current && !child.metadata.deletionTimestamp) wakeAdopters(controller, flavour, child);
}

/** Enqueues the owner: finds the resource by group and kind, in any version, then the parent by name and UID. */
function wakeOwner(
  controller: Controller,
  namespace: string | undefined,
  { apiVersion, kind, name, uid }: OwnerReference,
): void {
  const entry = controller.parents.find(({ resource }) =>
    resource.kind === kind && groupOf(resource.apiVersion) === groupOf(apiVersion)
  );
  const parent = entry?.informer.get(entry.resource.namespaced ? namespace : undefined, name);
  if (entry && parent?.metadata.uid === uid) wake(controller, entry, parent);
}

function wakeAdopters(controller: Controller, flavour: Flavour, { metadata }: KubeObject): void {
  for (const entry of controller.parents) {
    const candidates = entry.informer.list(entry.resource.namespaced ? metadata.namespace ?? "" : undefined);
    for (const parent of candidates) {
      if (flavour.adoption(controller, parent)?.(metadata.labels)) wake(controller, entry, parent);
    }
  }
}
