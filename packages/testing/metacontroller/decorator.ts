/**
 * Syncs a parent of a DecoratorController: calls the hook, writes labels, annotations and status, updates attachments.
 * @module
 */
import { sameJson } from "../../api/objects/apply.ts";
import { DECORATOR_ANNOTATION } from "../../api/objects/keys.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { addObjects, groupFor, type Groups, manageChildren } from "./children.ts";
import type { Controller, ControllerKind, Parents } from "./controller.ts";
import { isConflict, isNotFound, withMetadata } from "../store/store.ts";
import {
  callHook,
  concerns,
  desiredGroups,
  hasFinalizer,
  managesChildren,
  scheduleResync,
  syncFinalizer,
  withoutFinalizer,
} from "./sync.ts";

export const decorator: ControllerKind = { sync, adoption: () => undefined };

async function sync(controller: Controller, parents: Parents, cached: KubeObject): Promise<void> {
  const { store, customize, definition, strategies } = controller;
  const parent = await syncFinalizer(controller, parents, cached);
  if (!concerns(controller, parents, parent)) return;
  const observed = observedAttachments(controller, parent);
  const related = await customize.related(parent);
  const answer = await callHook(controller, parents, parent, observed, related);
  scheduleResync(controller, parents, parent, answer["resyncAfterSeconds"]);
  try {
    await decorate(controller, parents, parent, answer);
  } catch (error) {
    // The parent's event causes another sync; its attachments are not updated before.
    if (isNotFound(error) || isConflict(error)) return;
    throw error;
  }
  if (!managesChildren(controller, parent)) return;
  const desired = annotated(desiredGroups(answer["attachments"], parent), definition.name);
  await manageChildren(store, strategies, parent, observed, desired);
}

/**
 * Returns the attachments: objects that the parent controls and that have the controller's name. There is no adoption.
 */
function observedAttachments({ children, definition }: Controller, parent: KubeObject): Groups {
  const { uid, namespace } = parent.metadata;
  const groups: Groups = new Map();
  for (const { resource, informer } of children) {
    groupFor(groups, resource);
    const owned = informer.ownedBy(uid ?? "", namespace);
    addObjects(
      groups,
      owned.filter(({ metadata }) => metadata.annotations?.[DECORATOR_ANNOTATION] === definition.name),
    );
  }
  return groups;
}

/** Writes the changes if the parent has not changed: first the status on its own, then always the object. */
async function decorate(
  { store, definition }: Controller,
  { resource }: Parents,
  parent: KubeObject,
  answer: HookAnswer,
): Promise<void> {
  const labels = mergeTexts(parent.metadata.labels, answer["labels"]);
  const annotations = mergeTexts(parent.metadata.annotations, answer["annotations"]);
  const status = answer["status"] ?? parent["status"];
  const statusChanged = !sameJson(parent["status"], status);
  const finalized = answer["finalized"] === true && hasFinalizer(parent, definition.finalizer);
  if (!labels.changed && !annotations.changed && !statusChanged && !finalized) return;
  const metadata = { labels: labels.texts, annotations: annotations.texts };
  let updated: KubeObject = { ...withMetadata(parent, metadata), status: status ?? null };
  if (statusChanged && resource.hasStatus) {
    const { metadata: written } = await store.updateStatus(resource, updated);
    updated = withMetadata(updated, { resourceVersion: written.resourceVersion });
  }
  await store.update(resource, finalized ? withoutFinalizer(updated, definition.finalizer) : updated);
}

type HookAnswer = Record<string, unknown>;

/** Sets the given texts and deletes those that are null; other keys stay. */
function mergeTexts(texts: Record<string, string> | undefined, changes: unknown) {
  const merged = { ...texts };
  for (const [key, text] of Object.entries((changes ?? {}) as Record<string, string | null>)) {
    if (text === null) delete merged[key];
    else merged[key] = text;
  }
  return { texts: merged, changed: !sameJson(merged, texts ?? {}) };
}

function annotated(desired: Groups, name: string): Groups {
  for (const { objects } of desired.values()) {
    for (const [key, child] of objects) {
      const annotations = { ...child.metadata?.annotations, [DECORATOR_ANNOTATION]: name };
      objects.set(key, withMetadata(child, { annotations }));
    }
  }
  return desired;
}
