/**
 * Defines a child of a Sandbox as the keeper sees it: the desired object, the object that exists under its name, and
 * the result of a check. Writes the annotation of a parent that lists the problems with its children.
 * @module
 */
import type { Problem, Unresolved } from "../api/keeperreports.ts";
import { UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import type { DesiredObject, KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import { kubeObjectSchema } from "../api/objects/schemas.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { Api, ObjectPath } from "../kube/api.ts";
import { findObject, patchOf, sendPatch, type Target } from "../kube/requests.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { Intervals, Report } from "./reconciler.ts";
import type { RefusedWrites } from "./refusedwrites.ts";

export type ChildKind = Exclude<Problem["kind"], "NetworkPolicy" | "Sandbox">;

/** A child that should exist, and the object that has its name; undefined: no object has it. */
export interface Child {
  kind: ChildKind;
  name: string;
  desired: DesiredObject;
  found: KubeObject | undefined;
}

/** Plural name of each kind of child, as in the URL. */
export const RESOURCES: Record<ChildKind, ObjectPath["resource"]> = {
  PersistentVolumeClaim: "persistentvolumeclaims",
  Pod: "pods",
  Service: "services",
};

/** Reads the object that has the name of a child; undefined: no object has it. */
export async function findChild(
  api: Api,
  sandbox: Sandbox,
  { kind, name }: Pick<Child, "kind" | "name">,
): Promise<KubeObject | undefined> {
  const { namespace } = sandbox.metadata;
  return await findObject(api, { resource: RESOURCES[kind], namespace, name }, kubeObjectSchema);
}

/** The dependencies of the reconciler of children. */
export interface ChildrenReconcilerOptions {
  api: Api;
  report: Report;
  log: Log;
  /** @default {INTERVALS} */
  intervals?: Intervals;
  /** @default {systemClock} */
  clock?: Clock;
  /** The refusals by the API server of writes to existing children. @default none */
  refusedWrites?: Pick<RefusedWrites, "of">;
}

/** The result of checking one child. `isOurs`: the child is the Sandbox's, so it needs no further check. */
export interface Finding {
  problem?: Problem | undefined;
  isOurs: boolean;
}

/**
 * Returns the merge patch that sets the annotation to these problems, or removes it if there are none; undefined if
 * that is so already. The patch applies only to the version of the parent that was checked.
 */
function unresolvedPatch({ metadata }: { metadata: ObjectMeta }, problems: Problem[]): object | undefined {
  const unresolved: Unresolved = { generation: metadata.generation ?? 0, problems };
  const text = problems.length > 0 ? JSON.stringify(unresolved) : undefined;
  if (metadata.annotations?.[UNRESOLVED_ANNOTATION] === text) return undefined;
  return patchOf(metadata, { annotations: { [UNRESOLVED_ANNOTATION]: text ?? null } });
}

/** Writes or removes the annotation. @returns false if the parent has changed or is gone; then check again */
export async function publishProblems(api: Api, report: Report, parent: Target, problems: Problem[]): Promise<boolean> {
  const body = unresolvedPatch(parent, problems);
  if (!body) return true;
  if (!await sendPatch(api, parent, body)) return false;
  if (problems.length > 0) report("annotated", parent.metadata, { problems });
  else report("annotation removed", parent.metadata, {});
  return true;
}
