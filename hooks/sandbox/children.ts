/** Decides which children a Sandbox has, and states a reason for each child that is deleted. @module */
import { hasOtherPod } from "../../packages/api/objects/names.ts";
import { childKey } from "../../packages/webhook/metacontroller.ts";
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import { unchanged } from "../../packages/webhook/unchanged.ts";
import { EXPIRED, NO_SERVICE, SUSPENDED } from "./deletionreasons.ts";
import { buildPod, keepPod } from "./pod.ts";
import type { PodLosses } from "./podlosses.ts";
import { awaitsVolumes, buildPVCs } from "./pvcs.ts";
import { buildService, keepService } from "./service.ts";
import { isInvalid, type View } from "./view.ts";

/** The children of an answer. Every observed child is either in `children`, or in `deletions` with a reason. */
export interface Children {
  children: DesiredObject[];
  deletions: Record<string, string>;
}

/**
 * Decides the children of a Sandbox that is running or suspended, and not expired.
 *
 * @param isDue the Sandbox has expired, but its status does not report it yet: existing children stay, no Pod or
 * Service is created
 */
export function desiredChildren(view: View, losses: PodLosses | undefined, isDue: boolean): Children {
  return joined([volumes(view), pods(view, losses, isDue), service(view, isDue), keptOthers(view)]);
}

/** Decides the children of an expired Sandbox: Pod and Service are deleted, volumes stay. */
export function expiredChildren(view: View): Children {
  const gone = [...view.pods, ...(view.service ? [view.service] : [])];
  return joined([
    volumes(view),
    { children: [], deletions: reasons(gone, EXPIRED) },
    keptOthers(view),
  ]);
}

/** Keeps every child unchanged. If a Sandbox is being deleted, the garbage collector deletes its children. */
export function untouchedChildren(view: View): Children {
  const all = [...view.pvcs, ...view.pods, ...(view.service ? [view.service] : []), ...view.others];
  return { children: all.map(unchanged), deletions: {} };
}

/** Keeps the volumes in every state of the Sandbox, even if no volume claim template names them any more. */
function volumes(view: View): Children {
  const observed = new Set(view.pvcs.map(({ metadata }) => metadata.name));
  const built = buildPVCs(view.sandbox);
  const names = new Set(built.map(({ metadata }) => metadata.name));
  const possible = built.filter(({ kind, metadata: { name } }) => observed.has(name) || !isInvalid(view, kind, name));
  const unnamed = view.pvcs.filter(({ metadata }) => !names.has(metadata.name));
  return { children: [...possible, ...unnamed.map(unchanged)], deletions: {} };
}

function pods(view: View, losses: PodLosses | undefined, isDue: boolean): Children {
  const { sandbox, pod } = view;
  if (view.pods.length > 1) return { children: view.pods.map(unchanged), deletions: {} };
  if (sandbox.spec.operatingMode === "Suspended") {
    return { children: [], deletions: reasons(view.pods, SUSPENDED) };
  }
  if (pod) return { children: [keepPod(sandbox, pod)], deletions: {} };
  // Another Pod may exist, without the labels. Until the keeper has checked, a new Pod could be a second one.
  if (hasOtherPod(sandbox)) return { children: [], deletions: {} };
  const impossible = isDue || losses?.isHeld === true || awaitsVolumes(sandbox, view.pvcs) ||
    isInvalid(view, "Pod", sandbox.metadata.name);
  return { children: impossible ? [] : [buildPod(sandbox, losses?.annotation)], deletions: {} };
}

function service(view: View, isDue: boolean): Children {
  const { sandbox, service: observed } = view;
  const wanted = sandbox.spec.service;
  if (observed && view.pods.length > 1) return { children: [unchanged(observed)], deletions: {} };
  if (observed && wanted === false) return { children: [], deletions: reasons([observed], NO_SERVICE) };
  if (observed) return { children: [keepService(sandbox, observed, view.pods.length > 0)], deletions: {} };
  const possible = !isDue && wanted === true && view.pods.length < 2 &&
    !isInvalid(view, "Service", sandbox.metadata.name);
  return { children: possible ? [buildService(sandbox)] : [], deletions: {} };
}

function keptOthers(view: View): Children {
  return { children: view.others.map(unchanged), deletions: {} };
}

function reasons(gone: { kind: string; metadata: { name: string } }[], reason: string): Record<string, string> {
  return Object.fromEntries(gone.map((child) => [childKey(child), reason]));
}

function joined(parts: Children[]): Children {
  return {
    children: parts.flatMap(({ children }) => children),
    deletions: Object.assign({}, ...parts.map(({ deletions }) => deletions)),
  };
}
