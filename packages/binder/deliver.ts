/**
 * Delivers a claim's variables to its Sandbox while that runs (late binding): before the claim is bound, and again for
 * each later start of its Pod. Reads the Secrets that the claim names, if the API server has checked that the claim's
 * author may read them: the binder cannot find out who the author is. @module
 */
import { Buffer } from "node:buffer";
import { lateVariables, secretVariables } from "../api/claims/latebinding.ts";
import { deliveryFailed } from "../api/claims/problem.ts";
import { hasExpired } from "../api/expiry.ts";
import { SECRET_ENV_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type Api, isOk, messageOf, pathOf } from "../kube/api.ts";
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import type { Report } from "./report.ts";
import { logFields } from "./spans.ts";
import type { ControlledSandbox, Standing } from "./standing.ts";
import { type Binder, DeliveryRefused, getClaim, isServing, parseClaim, type QueuedClaim, serverNow } from "./state.ts";
import { deleteSandbox } from "./writes.ts";

/** Failures of one Sandbox before a claim reports them, or its Sandbox is discarded. */
const MOST_FAILURES = 3;
/** Sandboxes that one claim discards: if these refuse the variables, the template is the cause. */
const MOST_DISCARDED = 2;

/** What happens to the claim after a delivery. */
interface Next {
  reconcile(binder: Binder, entry: QueuedClaim): void;
  report(binder: Binder, entry: QueuedClaim, what: Report): Promise<void>;
}

/**
 * Starts a delivery if one is due.
 *
 * @returns whether the claim may be bound: its Sandbox has the variables, needs none, or waits for them itself
 */
export function deliverIfDue(binder: Binder, entry: QueuedClaim, stands: Standing, next: Next): boolean {
  const { claim, delivery } = entry;
  const isBound = stands.is === "hooks" && claim.metadata.deletionTimestamp === undefined;
  const bound = isBound ? binder.index.controlled(entry).find(claim.status?.sandbox?.name) : undefined;
  const sandbox = stands.is === "assigned" ? stands.assigned : bound;
  if (!sandbox?.bindsLate || hasExpired(claim, serverNow(binder))) return true;
  const { start } = sandbox;
  if (start !== undefined && start === delivery.done) return true;
  if (start !== undefined && isDue(delivery, start)) {
    binder.deliveries.add(entry.namespace, entry.uid, () => deliver(binder, entry, sandbox, start, !isBound, next));
  }
  return sandbox.isCold;
}

function isDue({ done, running, retry }: QueuedClaim["delivery"], start: string): boolean {
  return done !== start && running !== start && !retry;
}

async function deliver(
  binder: Binder,
  entry: QueuedClaim,
  { name, uid, isCold }: ControlledSandbox,
  start: string,
  isFirst: boolean,
  next: Next,
): Promise<void> {
  const { api, clock, log } = binder;
  const { delivery } = entry;
  const isOver = () => !isServing(binder) || binder.claims.get(entry.uid) !== entry;
  if (isOver() || !isDue(delivery, start)) return;
  delivery.running = start;
  try {
    const raw = entry.raw ?? await getClaim(api, entry.claim);
    const claim = raw && parseClaim(raw);
    if (isOver()) return;
    // The watch will show that it is gone.
    if (!claim) return;
    const { namespace } = entry;
    const env = { ...lateVariables(claim, isCold), ...await secretValues(api, claim) };
    if (isOver()) return;
    // A Sandbox of its own makes the claim Ready at once, so programs may bind variables already.
    await binder.deliver({ namespace, name, uid, claim: entry.uid }, env, isFirst && !isCold ? "first" : "again");
    delivery.done = start;
    delivery.failures = 0;
  } catch (error) {
    if (isOver()) return;
    log("warn", "Cannot deliver the variables of a claim", {
      ...logFields(entry.claim),
      sandbox: name,
      ...errorFields(error),
    });
    const delay = backoffMs(delivery.failures++);
    delivery.retry = clock.setTimeout(() => {
      delivery.retry = undefined;
      next.reconcile(binder, entry);
      binder.schedule();
    }, delay);
    if (isFirst && delivery.failures >= MOST_FAILURES) await giveUp(binder, entry, name, error as Error, next);
    return;
  } finally {
    if (delivery.running === start) delivery.running = undefined;
  }
  next.reconcile(binder, entry);
  binder.schedule();
}

/** Discards a pool member that refuses the variables, so that the claim gets another one, or reports the failure. */
async function giveUp(binder: Binder, entry: QueuedClaim, name: string, error: Error, next: Next): Promise<void> {
  const { delivery } = entry;
  const assigned = binder.index.controlled(entry).find(name);
  if (error instanceof DeliveryRefused && assigned && !assigned.isCold && delivery.discarded < MOST_DISCARDED) {
    delivery.discarded++;
    delivery.failures = 0;
    await deleteSandbox(binder.api, { namespace: entry.namespace, name, uid: assigned.uid }).catch((failure) =>
      binder.log("warn", "Cannot delete a Sandbox", {
        ...logFields(entry.claim),
        sandbox: name,
        ...errorFields(failure),
      })
    );
    return;
  }
  await next.report(binder, entry, { is: "undelivered", problem: deliveryFailed(error.message) });
}

/** Name of the admission policy that checks the author, and of its binding. */
const POLICY = "hookbox-claim-secrets";
const POLICIES = [
  `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${POLICY}`,
  `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/${POLICY}`,
];
/** How long the API servers may need until a new policy is in force, in milliseconds. */
const IN_FORCE_MS = 10_000;

/**
 * Returns the values by name of the variable; empty if the claim names no Secret.
 *
 * @throws {Error} without values, if the author was not checked, or a value cannot be read
 */
export async function secretValues(api: Api, claim: SandboxClaim): Promise<Record<string, string>> {
  const variables = secretVariables(claim);
  if (typeof variables === "string") throw new Error(variables);
  if (variables.length === 0) return {};
  const { namespace = "" } = claim.metadata;
  const names = [...new Set(variables.map(({ secret }) => secret))];
  const read = async (name: string) => [name, await readSecret(api, namespace, name)] as const;
  // At the same time, because the client waits for the claim. Without the check, it learns nothing about the Secrets.
  const reading = Promise.all(names.map(read));
  reading.catch(() => {});
  await Promise.all(POLICIES.map((path) => checkPolicy(api, claim, path)));
  const secrets = new Map(await reading);
  return Object.fromEntries(variables.map(({ name, secret, key }) => {
    const encoded = secrets.get(secret)?.[key];
    if (encoded === undefined) throw new Error(`Secret ${secret} has no key ${key}`);
    const value = Buffer.from(encoded, "base64").toString();
    if (value.includes("\0") || value.includes("\uFFFD")) throw new Error(`key ${key} of Secret ${secret} is not text`);
    return [name, value];
  }));
}

/**
 * Checks that the policy, or its binding, was in force when the claim was created. The policy also checks each later
 * change of the annotation.
 */
async function checkPolicy(api: Api, { metadata }: SandboxClaim, path: string): Promise<void> {
  const answer = await api.send({ method: "GET", path });
  if (answer.status === 404) {
    throw new Error(`the admission policy ${POLICY} is missing, so nobody has checked who may read the Secrets`);
  }
  if (!isOk(answer)) throw new Error(`the admission policy ${POLICY} cannot be read: ${messageOf(answer)}`);
  const { metadata: own, spec } = answer.body as { metadata: ObjectMeta; spec?: { validationActions?: string[] } };
  if (path.includes("policybindings/") && spec?.validationActions?.includes("Deny") !== true) {
    throw new Error(`the admission policy ${POLICY} refuses nothing: validationActions of its binding lacks Deny`);
  }
  const { creationTimestamp = "" } = own;
  if (!(Date.parse(metadata.creationTimestamp ?? "") > Date.parse(creationTimestamp) + IN_FORCE_MS)) {
    throw new Error(
      `the claim is older than the admission policy ${POLICY}, which checks ${SECRET_ENV_ANNOTATION}: create it again`,
    );
  }
}

async function readSecret(api: Api, namespace: string, name: string): Promise<Record<string, string>> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "secrets", namespace, name }) });
  if (answer.status === 404) throw new Error(`Secret ${name} does not exist`);
  if (!isOk(answer)) {
    throw new Error(`the binder cannot read Secret ${name}: ${messageOf(answer)}. See docs/howto/secrets.md`);
  }
  return (answer.body as { data?: Record<string, string> }).data ?? {};
}
