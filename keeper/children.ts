/** Which children a Sandbox should have, and what became of each: shapes, and the list. Sends nothing. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { Problem } from "../api/unresolved.ts";
import type { DesiredObject, KubeObject } from "../lib/objects.ts";
import type { ObjectPath } from "../kube/api.ts";

/** The hook's own builders: what they make is what Metacontroller would create. */
export interface Builders {
  buildPVCs(sandbox: Sandbox): DesiredObject[];
  buildPod(sandbox: Sandbox): DesiredObject;
  buildService(sandbox: Sandbox): DesiredObject;
}

export type ChildKind = Exclude<Problem["kind"], "NetworkPolicy">;

/** A child that should exist, and what stands in its place; undefined: nothing. */
export interface Child {
  kind: ChildKind;
  name: string;
  desired: DesiredObject;
  found: KubeObject | undefined;
}

/** Plural of each kind of child, as in the URL. */
export const RESOURCES: Record<ChildKind, ObjectPath["resource"]> = {
  PersistentVolumeClaim: "persistentvolumeclaims",
  Pod: "pods",
  Service: "services",
};

/**
 * Lists what to look at, in the order PersistentVolumeClaims, Pod, Service.
 *
 * Of a suspended Sandbox that is the Pod alone: it should not exist, but a foreign one of its name is worth a word.
 */
export function wantedChildren(sandbox: Sandbox, builders: Builders): Omit<Child, "found">[] {
  const pod = builders.buildPod(sandbox);
  const desired = sandbox.spec.operatingMode === "Suspended" ? [pod] : [
    ...builders.buildPVCs(sandbox),
    pod,
    ...(sandbox.spec.service === true ? [builders.buildService(sandbox)] : []),
  ];
  return desired.map((child) => ({ kind: child.kind as ChildKind, name: child.metadata.name, desired: child }));
}
