/** Finds children of a Sandbox that the API server does not let Metacontroller change or delete. @module */
import { keepPod } from "../../hooks/sandbox/pod.ts";
import { keepService } from "../../hooks/sandbox/service.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { applyUpdate, isUnchangedByMerge, lastApplied, present, presentKeys, sameJson } from "../api/objects/apply.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { CONTROLLER_UID_LABEL } from "../api/objects/keys.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import { controllerOf, type DesiredObject, type KubeObject } from "../api/objects/objects.ts";
import { podSchema } from "../api/objects/pods.ts";
import { systemClock } from "../process/clock.ts";
import { type ChildKind, type ChildrenReconcilerOptions, findChild, type Finding, RESOURCES } from "./child.ts";
import { type KnownRefusal, knownRefusals, refusalWords, stuckProblem, updateRefusal } from "./stuckproblem.ts";

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
    if (knownOf(sandbox, kind, options).length === 0) continue;
    const found = await findChild(options.api, sandbox, { kind, name });
    if (found && controllerOf(found.metadata)?.uid === uid) findings.push(await stuckOrOurs(sandbox, found, options));
  }
  return findings;
}

/** Reports a child as stuck if a write of it is outstanding and the API server has refused that write. */
export async function stuckOrOurs(sandbox: Sandbox, found: KubeObject, options: StuckOptions): Promise<Finding> {
  const { metadata } = found;
  const kind = found.kind as ChildKind;
  const known = knownOf(sandbox, kind, options);
  const write = known.length === 0 ? undefined : outstandingWrite(sandbox, found);
  if (!write) return { isOurs: true };
  const before = refusalWords(write.verb, known);
  const words = write.verb === "delete"
    ? before
    : await updateRefusal(options.api, { kind, resource: RESOURCES[kind], metadata }, write.change, before);
  return {
    problem: words === undefined ? undefined : stuckProblem(write.verb, { kind, name: metadata.name }, words),
    isOurs: true,
  };
}

function knownOf(
  { metadata }: Sandbox,
  kind: ChildKind,
  { refusedWrites, clock = systemClock }: StuckOptions,
): KnownRefusal[] {
  return knownRefusals(metadata, kind, refusedWrites?.of(metadata, clock.now()));
}

/** A write that Metacontroller has not carried out; `change`: the update as a merge patch. */
type OutstandingWrite = { verb: "delete" } | { verb: "update"; change: Json };

/**
 * Returns the write of a child that is outstanding; undefined: there is none, because the child is being deleted, or is
 * what a hook of the keeper's version wants. A hook of another version may want something else: see `updateRefusal`.
 *
 * @param found a Pod or Service that the Sandbox controls
 */
export function outstandingWrite(sandbox: Sandbox, found: KubeObject): OutstandingWrite | undefined {
  if (found.metadata.deletionTimestamp !== undefined) return undefined;
  if (findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired") return { verb: "delete" };
  const { operatingMode, service } = sandbox.spec;
  if (found.kind === "Pod" && operatingMode === "Suspended") return { verb: "delete" };
  if (found.kind === "Service" && service === false) return { verb: "delete" };
  const desired = desiredOf(sandbox, found);
  if (!desired) return undefined;
  const labels = { ...desired.metadata.labels, [CONTROLLER_UID_LABEL]: sandbox.metadata.uid ?? "" };
  // Metacontroller adds label and namespace before it merges.
  const wanted = { ...desired, metadata: { ...desired.metadata, labels, namespace: found.metadata.namespace } };
  if (isUnchangedByMerge(found, lastApplied(found), wanted)) return undefined;
  return {
    verb: "update",
    change: mergePatchOf(found as unknown as Json, applyUpdate(found, wanted) as unknown as Json),
  };
}

/** Returns the JSON merge patch that changes one object to another. */
function mergePatchOf(from: Json, to: Json): Json {
  const patch: Json = {};
  for (const key of presentKeys(from)) if (!present(to, key)) patch[key] = null;
  for (const key of presentKeys(to)) {
    const [is, will] = [from[key], to[key]];
    if (sameJson(is, will)) continue;
    patch[key] = isObject(is) && isObject(will) ? mergePatchOf(is, will) : will;
  }
  return patch;
}

function desiredOf(sandbox: Sandbox, found: KubeObject): DesiredObject | undefined {
  if (found.kind === "Service") return keepService(sandbox, found, true) as DesiredObject;
  const pod = found.kind === "Pod" ? podSchema.safeParse(found).data : undefined;
  return pod && keepPod(sandbox, pod);
}
