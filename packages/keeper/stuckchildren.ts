/** Finds children of a Sandbox that the API server does not let Metacontroller change or delete. @module */
import { keepPod } from "../../hooks/sandbox/pod.ts";
import { keepService } from "../../hooks/sandbox/service.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { lastApplied } from "../api/objects/apply.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { CONTROLLER_UID_LABEL } from "../api/objects/keys.ts";
import { controllerOf, type DesiredObject, type KubeObject } from "../api/objects/objects.ts";
import { podSchema } from "../api/objects/pods.ts";
import { isUnchangedByMerge } from "../api/objects/unchangedbymerge.ts";
import { systemClock } from "../process/clock.ts";
import { type ChildKind, findChild } from "./child.ts";
import type { ChildrenReconcilerOptions, Finding } from "./children.ts";
import { refusalWords, stuckProblem } from "./stuckproblem.ts";

type StuckOptions = Pick<ChildrenReconcilerOptions, "api" | "clock" | "refusedWrites">;

/** Finds children of these kinds that the Sandbox no longer wants, and that the API server refuses to delete. */
export async function leavingChildren(
  sandbox: Sandbox,
  kinds: ("Pod" | "Service")[],
  options: StuckOptions,
): Promise<Finding[]> {
  const { uid, name } = sandbox.metadata;
  const findings: Finding[] = [];
  for (const kind of kinds) {
    if (wordsOf(sandbox, kind, options) === undefined) continue;
    const found = await findChild(options.api, sandbox, { kind, name });
    if (found && controllerOf(found.metadata)?.uid === uid) findings.push(stuckOrOurs(sandbox, found, options));
  }
  return findings;
}

/** Reports a child as stuck if a write of it is outstanding and the API server has refused that write. */
export function stuckOrOurs(sandbox: Sandbox, found: KubeObject, options: StuckOptions): Finding {
  const child = { kind: found.kind as ChildKind, name: found.metadata.name };
  const words = wordsOf(sandbox, child.kind, options);
  const verb = words === undefined ? undefined : outstandingWrite(sandbox, found);
  const problem = words === undefined || !verb ? undefined : stuckProblem(verb, child, words);
  return { ...(problem && { problem }), isOurs: true };
}

function wordsOf(
  { metadata }: Sandbox,
  kind: ChildKind,
  { refusedWrites, clock = systemClock }: StuckOptions,
): string | undefined {
  return refusalWords(metadata, kind, refusedWrites?.of(metadata, clock.now()));
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
