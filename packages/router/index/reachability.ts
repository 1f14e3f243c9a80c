/** Decides whether a Sandbox can be reached, and at which address. Pure. @module */
import { FINAL_REASONS } from "../../api/finalreasons.ts";
import { type Condition, findCondition } from "../../api/objects/conditions.ts";
import type { Target } from "../destination.ts";
import { notFound, type Refusal, unreachable } from "../refusal.ts";
import type { PodRecord, SandboxRecord } from "./records.ts";
import type { SandboxEntry } from "./sandboxindex.ts";

/**
 * How a request can reach a Sandbox.
 *
 * | state | meaning |
 * |---|---|
 * | reachable | its Pod listens at `ip` |
 * | suspended | it must be woken first |
 * | starting | wait; `phase` says how far it is, `cause` what is missing |
 * | refused | do not wait; if `mayLag` is true, the API server may know more than the watch |
 */
export type Reachability =
  | { state: "reachable"; ip: string; pod: PodRecord }
  | { state: "suspended" }
  | { state: "starting"; phase: Phase; cause: string }
  | { state: "refused"; refusal: Refusal; mayLag: boolean };

/** How far a Sandbox is on its way to Ready. */
type Phase = "resuming" | "scheduling" | "starting" | "handing over";

/** Reasons of condition Ready for which waiting does not help. With several Pods, somebody must delete one first. */
const FINAL = new Set<string>([...FINAL_REASONS, "MultiplePods"]);
/** How long containers may fail before requests are refused: a registry or a node may fail for a moment. */
const FAILING_GRACE_MS = 15_000;

/**
 * Decides the state of a Sandbox. The first row that applies decides. Pods that have lost their address to a younger
 * Pod do not count.
 *
 * | observation | state |
 * |---|---|
 * | the Sandbox is not known | refused 404, may lag |
 * | it has another UID than the request names | refused 404, may lag |
 * | it is an unclaimed member of a pool | refused 404, may lag |
 * | it is being deleted | refused 404 |
 * | it has expired | refused 502 |
 * | mode Suspended, and condition Ready says that it will not run | refused 502 |
 * | mode Suspended | suspended |
 * | this router is suspending it | starting |
 * | several Pods are Ready | refused 502 |
 * | the Ready Pod uses the node's network | refused 502 |
 * | the Ready Pod still has the label of a pool, and the request is no delivery | starting |
 * | the Ready Pod existed while the Sandbox was suspended, and condition Ready has not been True since | starting |
 * | the Ready Pod has an address that a Pod can have | reachable |
 * | the Ready Pod has another address | refused 502 |
 * | Ready says that it will not run, or containers have failed for {@link FAILING_GRACE_MS} | refused 502 |
 * | (none of these) | starting |
 */
export function reachabilityOf(target: Target, entry: SandboxEntry | undefined, now: number): Reachability {
  const { namespace, name } = target;
  const unknown = (cause: string, mayLag = true): Reachability => ({
    state: "refused",
    refusal: notFound(namespace, name, cause),
    mayLag,
  });
  const unusable = (cause: string): Reachability => ({
    state: "refused",
    refusal: unreachable(name, cause),
    mayLag: false,
  });
  if (!entry) return unknown("it does not exist");
  const { sandbox } = entry;
  if (target.uid !== undefined && target.uid !== sandbox.metadata.uid) return unknown("it has another UID");
  if (sandbox.isUnclaimed) return unknown("it is a member of a pool that no claim has been given");
  if (sandbox.isDeleting) return unknown("it is being deleted", false);
  if (sandbox.expiresAt !== undefined && sandbox.expiresAt <= now) return unusable("the sandbox has expired");
  const final = finalCause(sandbox);
  if (sandbox.isSuspended) return final ? unusable(final) : { state: "suspended" };
  if (entry.isBeingSuspended) return { state: "starting", phase: "resuming", cause: "it is just being suspended" };
  const pods = [...entry.pods.values()].filter(({ isDeleting, isReady, ips, metadata: { uid } }) =>
    !isDeleting && isReady && ips.length > 0 && !entry.lost.has(uid)
  );
  const [pod, second] = pods;
  if (second) return unusable(`${pods.length} Pods of it are Ready`);
  if (pod?.usesHostNetwork) return unusable("its Pod uses the network of its node");
  if (pod?.isUnclaimed && !target.isDelivery) {
    return { state: "starting", phase: "handing over", cause: "its Pod is still labelled as a pool's" };
  }
  if (pod && entry.suspects.has(pod.metadata.uid) && current(sandbox, "Ready")?.status !== "True") {
    return { state: "starting", phase: "resuming", cause: "its former Pod may be terminating" };
  }
  if (pod) {
    const { address: ip } = pod;
    return ip === undefined
      ? unusable("the address of its Pod is not one that a Pod can have")
      : { state: "reachable", ip, pod };
  }
  const failing = findCondition(sandbox.conditions, "ContainersFailing");
  if (final) return unusable(final);
  if (failing && entry.failingSince !== undefined && now - entry.failingSince >= FAILING_GRACE_MS) {
    return unusable(failing.message || failing.reason);
  }
  return startingOf(entry);
}

function startingOf({ sandbox, pods, lost }: SandboxEntry): Reachability {
  const pod = [...pods.values()].find(({ isDeleting }) => !isDeleting);
  if (pod && lost.has(pod.metadata.uid)) {
    return { state: "starting", phase: "starting", cause: "another Pod has the address of its Pod by now" };
  }
  const phase: Phase = !pod ? "resuming" : pod.isScheduled ? "starting" : "scheduling";
  const conditions = [findCondition(sandbox.conditions, "ContainersFailing"), unscheduled(sandbox), ready(sandbox)];
  const cause = conditions.find((condition) => condition?.message)?.message ?? "its Pod is not Ready";
  return { state: "starting", phase, cause: pods.size > 0 && !pod ? "its former Pod is still terminating" : cause };
}

function ready(sandbox: SandboxRecord): Condition | undefined {
  const condition = current(sandbox, "Ready");
  return condition?.status === "True" ? undefined : condition;
}

function unscheduled(sandbox: SandboxRecord): Condition | undefined {
  const condition = current(sandbox, "PodScheduled");
  return condition?.status === "False" ? condition : undefined;
}

function finalCause(sandbox: SandboxRecord): string | undefined {
  const condition = ready(sandbox);
  return condition && FINAL.has(condition.reason) ? condition.message || condition.reason : undefined;
}

/** Returns a condition of the current spec: after a wake, a condition of the previous spec remains for a moment. */
function current({ conditions, metadata }: SandboxRecord, type: string): Condition | undefined {
  const condition = findCondition(conditions, type);
  return (condition?.observedGeneration ?? metadata.generation) < metadata.generation ? undefined : condition;
}

/**
 * Returns the address to connect to. An address in the request can only lead to a Pod of the Sandbox that it names.
 *
 * | X-Sandbox-Pod-IP | address |
 * |---|---|
 * | absent | the Pod's first |
 * | an address of the Pod | this one |
 * | an address of an earlier Pod of the Sandbox, if the client does not know the new one yet | the Pod's first |
 * | any other | refused (502: clients then look up the address again) |
 */
export function addressFor(
  { name, podIP }: Target,
  { ip, pod }: Extract<Reachability, { state: "reachable" }>,
  entry: SandboxEntry | undefined,
): string | Refusal {
  if (podIP === undefined || podIP === ip) return ip;
  if (pod.ips.includes(podIP)) return podIP;
  if (entry?.formerIPs.includes(podIP)) return ip;
  return unreachable(name, "X-Sandbox-Pod-IP is not an address of its Pod");
}

/**
 * Returns the UID of the Sandbox's Pod at an address; undefined: none of its Pods has it, or that Pod is being deleted.
 */
export function podUIDAt(entry: SandboxEntry | undefined, address: string): string | undefined {
  for (const { ips, isDeleting, metadata: { uid } } of entry?.pods.values() ?? []) {
    if (!isDeleting && ips.includes(address)) return uid;
  }
  return undefined;
}
