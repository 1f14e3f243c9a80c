/** The common steps of a composite's and a decorator's sync: finalizer, hook call, desired children. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Controller, Parents } from "./controller.ts";
import { editLive, withMetadata } from "../store/store.ts";
import { addObjects, type Groups, hookMap } from "./children.ts";

const GARBAGE_COLLECTION = ["foregroundDeletion", "orphan"];

/** Tells whether the controller handles a parent: it matches the rule, or has the controller's finalizer. */
export function concerns({ definition }: Controller, { matches }: Parents, parent: KubeObject): boolean {
  return matches(parent) || hasFinalizer(parent, definition.finalizer);
}

/** Tells whether an object has a finalizer. */
export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return finalizersOf(object).includes(finalizer);
}

/** Adds the controller's finalizer if there is a finalize hook, else removes it. Returns the changed parent. */
export async function syncFinalizer(
  controller: Controller,
  { resource }: Parents,
  parent: KubeObject,
): Promise<KubeObject> {
  const { definition } = controller;
  const wanted = definition.hooks.finalize !== undefined;
  if (hasFinalizer(parent, definition.finalizer) === wanted) return parent;
  if (!wanted) return await removeFinalizer(controller, resource, parent);
  if (parent.metadata.deletionTimestamp) return parent;
  return await editLive(
    controller,
    resource,
    parent,
    (live) =>
      hasFinalizer(live, definition.finalizer)
        ? undefined
        : withMetadata(live, { finalizers: [...finalizersOf(live), definition.finalizer] }),
  );
}

/** Removes the controller's finalizer from the parent in the store. */
export async function removeFinalizer(
  controller: Controller,
  resource: Parents["resource"],
  parent: KubeObject,
): Promise<KubeObject> {
  const { finalizer } = controller.definition;
  return await editLive(
    controller,
    resource,
    parent,
    (live) => hasFinalizer(live, finalizer) ? withoutFinalizer(live, finalizer) : undefined,
  );
}

export function withoutFinalizer(object: KubeObject, finalizer: string): KubeObject {
  return withMetadata(object, { finalizers: finalizersOf(object).filter((name) => name !== finalizer) });
}

/**
 * Children are updated while the parent is not being deleted, or while the controller's finalizer holds it, unless the
 * garbage collector deletes them.
 */
export function managesChildren({ definition }: Controller, parent: KubeObject): boolean {
  if (!parent.metadata.deletionTimestamp) return true;
  const collecting = finalizersOf(parent).some((name) => GARBAGE_COLLECTION.includes(name));
  return definition.hooks.finalize !== undefined && hasFinalizer(parent, definition.finalizer) && !collecting;
}

/**
 * Calls finalize if there is such a hook and the parent is being deleted or no longer matches; otherwise calls sync.
 */
export async function callHook(
  controller: Controller,
  { matches }: Parents,
  parent: KubeObject,
  children: Groups,
  related: Groups,
): Promise<Record<string, unknown>> {
  const { definition, hooks, signal } = controller;
  const finalizing = hooks.finalize !== undefined && (Boolean(parent.metadata.deletionTimestamp) || !matches(parent));
  const hook = finalizing ? hooks.finalize : hooks.sync;
  if (!hook) throw new Error(`Cannot sync ${parent.kind} ${parent.metadata.name}: the controller has no sync hook`);
  const composite = definition.kind === "CompositeController";
  const { namespace } = parent.metadata;
  return await hook.call({
    controller: definition.sent,
    [composite ? "parent" : "object"]: parent,
    [composite ? "children" : "attachments"]: hookMap(children, hook.version, namespace),
    related: hookMap(related, hook.version, namespace),
    finalizing,
  }, signal);
}

/**
 * Groups the children in an answer. Without a namespace, a child is in its parent's. No children in the answer: all are
 * deleted.
 */
export function desiredGroups(children: unknown, parent: KubeObject): Groups {
  const { namespace } = parent.metadata;
  const placed = ((children ?? []) as KubeObject[]).map((child) =>
    child.metadata?.namespace || namespace === undefined ? child : withMetadata(child, { namespace })
  );
  return addObjects(new Map(), placed);
}

/** Schedules the next sync, if the answer requests one. */
export function scheduleResync(controller: Controller, parents: Parents, parent: KubeObject, seconds: unknown): void {
  if (typeof seconds === "number" && seconds > 0) controller.resyncAfter(parents, parent, seconds);
}

function finalizersOf({ metadata }: KubeObject): string[] {
  return (metadata["finalizers"] ?? []) as string[];
}
