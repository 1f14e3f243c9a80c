/** Finds children of a Sandbox that the API server does not let Metacontroller change or delete. @module */
import { keepPod } from "../../hooks/sandbox/pod.ts";
import { keepService } from "../../hooks/sandbox/service.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { readUnresolved } from "../api/unresolved.ts";
import { lastApplied } from "../api/objects/apply.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { CONTROLLER_UID_LABEL } from "../api/objects/keys.ts";
import { controllerOf, type DesiredObject, type KubeObject, kubeObjectSchema } from "../api/objects/objects.ts";
import { podSchema } from "../api/objects/pods.ts";
import { isUnchangedByMerge } from "../api/objects/unchangedbymerge.ts";
import { findObject } from "../kube/find.ts";
import { systemClock } from "../process/clock.ts";
import type { ChildKind, ChildrenReconcilerOptions, Finding } from "./children.ts";

type StuckOptions = Pick<ChildrenReconcilerOptions, "api" | "clock" | "refusedWrites">;

/** Finds the Service of a Sandbox that no longer wants one, if the API server refuses to delete it. */
export async function leavingService(sandbox: Sandbox, options: StuckOptions): Promise<Finding | undefined> {
  return sandbox.spec.service === false ? await leavingChild(sandbox, "Service", options) : undefined;
}

/** Finds the Pod and the Service of a Sandbox that has expired, if the API server refuses to delete them. */
export async function leavingChildren(sandbox: Sandbox, options: StuckOptions): Promise<Finding[]> {
  const found = [await leavingChild(sandbox, "Pod", options), await leavingChild(sandbox, "Service", options)];
  return found.filter((finding) => finding !== undefined);
}

async function leavingChild(
  sandbox: Sandbox,
  kind: "Pod" | "Service",
  options: StuckOptions,
): Promise<Finding | undefined> {
  if (wordsOfStuck(sandbox, kind, options) === undefined) return undefined;
  const { uid, namespace, name } = sandbox.metadata;
  const found = await findObject(options.api, { resource: RESOURCES[kind], namespace, name }, kubeObjectSchema);
  return found && controllerOf(found.metadata)?.uid === uid ? stuckOrOurs(sandbox, found, options) : undefined;
}

const RESOURCES = { Pod: "pods", Service: "services" } as const;

/** Reports a child as stuck if a write of it is outstanding and the API server has refused that write. */
export function stuckOrOurs(sandbox: Sandbox, found: KubeObject, options: StuckOptions): Finding {
  const { name } = found.metadata;
  const kind = found.kind as ChildKind;
  const words = wordsOfStuck(sandbox, kind, options);
  const verb = words === undefined ? undefined : outstandingWrite(sandbox, found);
  if (words === undefined || !verb) return { isOurs: true };
  return {
    problem: { kind, name, state: "stuck", message: `cannot ${verb} ${kind} "${name}": ${words}` },
    isOurs: true,
  };
}

/** An earlier report holds until the write has succeeded: Events expire, and a new keeper may not have seen them. */
function wordsOfStuck(
  { metadata }: Sandbox,
  kind: ChildKind,
  { refusedWrites, clock = systemClock }: StuckOptions,
): string | undefined {
  const news = refusedWrites?.of(metadata.uid, clock.now());
  const before = readUnresolved(metadata)?.problems.find((problem) =>
    problem.kind === kind && problem.state === "stuck"
  );
  return news ?? before?.message.replace(/^cannot (?:update|delete) \w+ "[^"]*": /, "");
}

/**
 * Returns which write of a child is outstanding; undefined: none, as the child is what the hook wants, or is being deleted.
 *
 * @param found a Pod or Service that the Sandbox controls
 */
export function outstandingWrite(sandbox: Sandbox, found: KubeObject): "delete" | "update" | undefined {
  if (found.metadata.deletionTimestamp !== undefined) return undefined;
  if (findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired") return "delete";
  const { operatingMode, service } = sandbox.spec;
  if (found.kind === "Pod" && operatingMode === "Suspended") return "delete";
  if (found.kind === "Service" && service === false) return "delete";
  const desired = desiredOf(sandbox, found);
  if (!desired) return undefined;
  const labels = { ...desired.metadata.labels, [CONTROLLER_UID_LABEL]: sandbox.metadata.uid ?? "" };
  // Metacontroller adds label and namespace before it merges.
  const wanted = { ...desired, metadata: { ...desired.metadata, labels, namespace: found.metadata.namespace } };
  return isUnchangedByMerge(found, lastApplied(found), wanted) ? undefined : "update";
}

function desiredOf(sandbox: Sandbox, found: KubeObject): DesiredObject | undefined {
  if (found.kind === "Service") return keepService(sandbox, found, true) as DesiredObject;
  const pod = found.kind === "Pod" ? podSchema.safeParse(found).data : undefined;
  return pod && keepPod(sandbox, pod);
}
