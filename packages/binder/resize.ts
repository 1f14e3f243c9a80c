/**
 * Gives a pool member the CPU and memory that its claim asks for while it runs (docs/decisions/0057). Before a member is
 * bound, the API server says whether its Pod can be resized. Afterwards the Pod is resized, and the claim is bound when the
 * kubelet has done so. If that fails, the claim gets a new Sandbox. @module
 */
import { resizeFailed } from "../api/claims/problem.ts";
import { type ContainerResources, firstResources, hasResources, resourcesText } from "../api/claims/resources.ts";
import { lackedRight } from "../api/diagnosis/messages.ts";
import { hasExpired } from "../api/expiry.ts";
import { controllerOf } from "../api/objects/objects.ts";
import { type Pod, podCondition } from "../api/objects/pods.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type Answer, isOk, messageOf, pathOf } from "../kube/api.ts";
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import { goOn, goOnIn, type Next } from "./next.ts";
import { logFields } from "./spans.ts";
import type { ControlledSandbox, Standing } from "./standing.ts";
import { type Binder, getClaim, isServing, type QueuedClaim, serverNow } from "./state.ts";
import { deleteSandbox } from "./writes.ts";

/** How long a kubelet may take before a new Sandbox is faster. */
const PATIENCE_MS = 10_000;
/** The first wait between two looks at the Pod, and the longest. */
const [FIRST_MS, LONGEST_MS] = [20, 500];
/** How long a refusal also counts for the pool's other claims that ask for the same. */
const REMEMBERED_MS = 60_000;
const MOST_REMEMBERED = 1000;

/**
 * Asks the API server whether the Pod of a member can be resized. Remembers in the claim's entry why not.
 *
 * @param bound the member as it will be written for the claim
 * @returns whether it can
 * @throws {Error} if the API server does not answer, or is busy
 */
export async function mayResize(binder: Binder, entry: QueuedClaim, claim: SandboxClaim, bound: Sandbox) {
  const text = resourcesText(claim) ?? "";
  const { unresizable, clock } = binder;
  const key = `${entry.namespace}/${claim.spec.warmPoolRef.name} ${text}`;
  const known = unresizable.get(key);
  if (known && known.until > clock.now()) {
    entry.notResized = { text, why: known.why };
    return false;
  }
  const { namespace, name, uid } = bound.metadata;
  const of = { namespace, name, uid };
  const answer = await sendResize(binder, of, firstResources(bound.spec.podTemplate.spec), { dryRun: "All" });
  const why = refusalOf(answer, of);
  if (why === undefined) return true;
  entry.notResized = { text, why };
  // Another member may have its Pod.
  if (answer.status === 404 && messageOf(answer).includes(`"${name}"`)) return false;
  if (unresizable.size >= MOST_REMEMBERED) unresizable.clear();
  unresizable.set(key, { why, until: clock.now() + REMEMBERED_MS });
  return false;
}

interface Resizing {
  namespace: string | undefined;
  name: string;
  uid: string | undefined;
}

/** Sends only CPU and memory of one container. The answer shows the Pod, so the binder needs no right to read Pods. */
async function sendResize(
  { api }: Binder,
  { namespace, name }: Resizing,
  container: ContainerResources,
  query?: { dryRun: "All" },
): Promise<Answer> {
  const path = `${pathOf({ resource: "pods", namespace, name })}/resize`;
  const body = { spec: { containers: [container] } };
  return await api.send({ method: "PATCH", path, patch: "strategic", body, ...(query ? { query } : {}) });
}

/** Returns why the API server does not resize the Pod; undefined: it does. @throws {Error} if it is only busy */
function refusalOf(answer: Answer, { namespace, name, uid }: Resizing): string | undefined {
  if (answer.status === 429) throw new Error(`Cannot resize Pod ${namespace}/${name}: ${messageOf(answer)}`);
  if (!isOk(answer)) {
    const words = messageOf(answer);
    if (!lackedRight(words)) return words;
    return `the binder may not resize Pods of namespace ${namespace}. See docs/howto/resources.md`;
  }
  const isOwn = controllerOf((answer.body as Pod).metadata)?.uid === uid;
  return isOwn ? undefined : `Pod ${name} does not belong to the Sandbox`;
}

/**
 * Starts or continues a resize if one is due.
 *
 * @returns whether the claim may be bound: its Sandbox has the resources, or needs none
 */
export function resizeIfDue(binder: Binder, entry: QueuedClaim, stands: Standing, next: Next): boolean {
  if (stands.is !== "assigned" || !stands.assigned.resize) return true;
  const { assigned } = stands;
  const { resizing, claim, namespace, uid } = entry;
  if (resizing.done === assigned.uid || hasExpired(claim, serverNow(binder))) return true;
  if (isDue(entry, assigned)) {
    binder.resizes.add(namespace, uid, () => resize(binder, entry, assigned, stands.assigned.resize, next));
  }
  return false;
}

function isDue({ resizing }: QueuedClaim, { uid }: ControlledSandbox): boolean {
  return resizing.done !== uid && resizing.discarded !== uid && !resizing.isRunning && !resizing.retry;
}

async function resize(
  binder: Binder,
  entry: QueuedClaim,
  assigned: ControlledSandbox,
  container: ContainerResources | undefined,
  next: Next,
): Promise<void> {
  const { clock, log } = binder;
  const { resizing, namespace } = entry;
  const isOver = () => !isServing(binder) || binder.claims.get(entry.uid) !== entry;
  if (isOver() || !container || !isDue(entry, assigned)) return;
  const { uid, name } = assigned;
  if (resizing.of !== uid) Object.assign(resizing, { of: uid, since: clock.now(), tries: 0 });
  resizing.isRunning = true;
  let why: string | undefined;
  try {
    const state = await stateOf(binder, { namespace, name, uid }, container).catch((error: Error) => {
      log("warn", "Cannot resize a Pod", { ...logFields(entry.claim), sandbox: name, ...errorFields(error) });
      return { waitsFor: error.message };
    });
    if (isOver()) return;
    if (state === "done") resizing.done = uid;
    else if ("refused" in state) why = state.refused;
    else if (clock.now() - resizing.since >= PATIENCE_MS) why = `${state.waitsFor} after ${PATIENCE_MS / 1000} s`;
    if (why !== undefined) await discard(binder, entry, assigned, why, next);
    else if (state !== "done") {
      goOnIn(binder, entry, resizing, Math.min(LONGEST_MS, FIRST_MS * 2 ** resizing.tries++), next);
    }
  } finally {
    resizing.isRunning = false;
  }
  if (resizing.done !== uid || isOver()) return;
  goOn(binder, entry, next);
}

/** Kubelets report with these reasons that they do not resize a Pod, for ever or for now. Source: k8s.io/api/core/v1 1.36. */
const NOT_NOW = ["Infeasible", "Deferred"];

/** Resizes the Pod, or repeats that, which changes nothing, and returns how far its kubelet is. @throws {Error} without an answer */
async function stateOf(
  binder: Binder,
  of: Resizing,
  container: ContainerResources,
): Promise<"done" | { refused: string } | { waitsFor: string }> {
  const answer = await sendResize(binder, of, container);
  // A new Pod is made from the Sandbox, or from an older view of it.
  if (answer.status === 404) return { waitsFor: "Pod does not exist" };
  const refused = refusalOf(answer, of);
  if (refused !== undefined) return { refused };
  const pod = answer.body as Pod;
  const status = pod.status?.containerStatuses?.find(({ name }) => name === container.name);
  if (hasResources(status?.["resources"] as ContainerResources["resources"], container)) return "done";
  const pending = podCondition(pod, "PodResizePending");
  // A condition of an earlier resize says nothing about this one.
  const seen = Number(pending?.["observedGeneration"] ?? Infinity);
  const isNew = seen >= Number(pod.metadata.generation ?? 0);
  if (pending?.status === "True" && NOT_NOW.includes(pending.reason ?? "") && isNew) {
    return { refused: `${pending.reason}: ${pending.message}` };
  }
  return { waitsFor: "the kubelet has not resized the container" };
}

/** Deletes a member that was not resized, so that the claim gets a new Sandbox. No client has seen the member. */
async function discard(
  binder: Binder,
  entry: QueuedClaim,
  { name, uid }: ControlledSandbox,
  why: string,
  next: Next,
): Promise<void> {
  const { api, log } = binder;
  const { resizing, namespace } = entry;
  try {
    const claim = await getClaim(api, entry.claim);
    if (!claim) return;
    // Another binder has seen the end of the resize, and bound the claim.
    if (claim.status?.sandbox?.name === name) return;
    entry.notResized = { text: resourcesText(claim) ?? "", why };
    await deleteSandbox(api, { namespace, name, uid });
    resizing.discarded = uid;
    log("info", "Discarded a Sandbox that was not resized", { ...logFields(claim), sandbox: name, why });
  } catch (error) {
    log("warn", "Cannot delete a Sandbox", { ...logFields(entry.claim), sandbox: name, ...errorFields(error) });
    const { message } = error as Error;
    await next.report(binder, entry, { is: "undelivered", problem: resizeFailed(`${why}. ${message}`) });
    // What hindered the resize may be over by then.
    resizing.of = undefined;
    goOnIn(binder, entry, resizing, backoffMs(resizing.failures++), next);
  }
}
