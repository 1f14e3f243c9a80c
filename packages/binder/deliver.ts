/**
 * Delivers a claim's variables, files and start command to its Sandbox while that runs (late binding): before the claim
 * is bound, and again for each later start of its Pod. Reads the Secrets that the claim names, if the API server has
 * checked that the claim's author may read them: the binder cannot find out who the author is. @module
 */
import { Buffer } from "node:buffer";
import { lateContents, lateVariables, needsDelivery, type SecretValue } from "../api/claims/latebinding.ts";
import { deliveryFailed } from "../api/claims/problem.ts";
import { contentsProblem } from "../api/claims/request.ts";
import { hasExpired } from "../api/expiry.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type Api, isOk, messageOf, pathOf } from "../kube/api.ts";
import { checkedSince, requireCheck } from "../kube/authorcheck.ts";
import { backoffMs } from "../kube/backoff.ts";
import { errorFields } from "../process/log.ts";
import { goOn, goOnIn, type Next } from "./next.ts";
import { logFields } from "./spans.ts";
import type { ControlledSandbox, Standing } from "./standing.ts";
import {
  type Binder,
  type Delivery,
  DeliveryRefused,
  getClaim,
  isServing,
  parseClaim,
  type QueuedClaim,
  serverNow,
} from "./state.ts";
import { getTemplate, isProjection } from "./store.ts";
import { deleteSandbox } from "./writes.ts";

/** Failures of one Sandbox before a claim reports them, or its Sandbox is discarded. */
const MOST_FAILURES = 3;
/** Sandboxes that one claim discards: if these refuse what the claim sets, the template is the cause. */
const MOST_DISCARDED = 2;

/**
 * Starts a delivery if one is due.
 *
 * @returns whether the claim may be bound: its Sandbox has what the claim sets, needs nothing, or waits for it itself
 */
export function deliverIfDue(binder: Binder, entry: QueuedClaim, stands: Standing, next: Next): boolean {
  const { claim, delivery } = entry;
  const isBound = stands.is === "hooks" && claim.metadata.deletionTimestamp === undefined;
  const bound = isBound ? binder.index.controlled(entry).find(claim.status?.sandbox?.name) : undefined;
  const sandbox = stands.is === "assigned" ? stands.assigned : bound;
  if (!sandbox?.bindsLate || hasExpired(claim, serverNow(binder))) return true;
  // A member waits for nothing. Later starts of its Pod do, so it gets the empty delivery, but its claim need not wait.
  if (!isBound && !sandbox.isCold && !needsDelivery(claim)) return true;
  const { start } = sandbox;
  if (start !== undefined && start === delivery.done) return true;
  if (start !== undefined && isDue(delivery, start)) {
    binder.deliveries.add(
      entry.namespace,
      entry.uid,
      () => delivery.underway = deliver(binder, entry, sandbox, start, !isBound, next),
    );
  }
  return sandbox.isCold;
}

function isDue({ done, running, retry }: QueuedClaim["delivery"], start: string): boolean {
  return done !== start && running !== start && !retry;
}

async function deliver(
  binder: Binder,
  entry: QueuedClaim,
  { name, uid, isCold, template }: ControlledSandbox,
  start: string,
  isFirst: boolean,
  next: Next,
): Promise<void> {
  const { api, log } = binder;
  const state = entry.delivery;
  const isOver = () => !isServing(binder) || binder.claims.get(entry.uid) !== entry;
  if (isOver() || !isDue(state, start)) return;
  state.running = start;
  try {
    const raw = entry.raw ?? await getClaim(api, entry.claim);
    const claim = raw && parseClaim(raw);
    if (isOver()) return;
    // The watch will show that it is gone.
    if (!claim) return;
    const { namespace } = entry;
    await checkTemplate(binder, claim, template);
    const late = await contentsOf(api, claim);
    const delivery = { ...late, env: { ...lateVariables(claim, isCold), ...late.env } };
    if (isOver()) return;
    // A Sandbox of its own makes the claim Ready at once, so programs may bind variables already.
    await binder.deliver({ namespace, name, uid, claim: entry.uid }, delivery, isFirst && !isCold ? "first" : "again");
    state.done = start;
    state.failures = 0;
  } catch (error) {
    if (isOver()) return;
    log("warn", "Cannot deliver what a claim sets", {
      ...logFields(entry.claim),
      sandbox: name,
      ...errorFields(error),
    });
    goOnIn(binder, entry, state, backoffMs(state.failures++), next);
    if (isFirst && state.failures >= MOST_FAILURES) await giveUp(binder, entry, name, error as Error, next);
    return;
  } finally {
    if (state.running === start) state.running = undefined;
  }
  goOn(binder, entry, next);
}

/**
 * Checks what the claim sets now: its variables and annotations may have changed since it was bound.
 *
 * @param name of the template of the claim's Sandbox. If that is gone, what the claim sets is not checked again
 */
async function checkTemplate({ api, index }: Binder, claim: SandboxClaim, name: string | undefined): Promise<void> {
  const kept = name === undefined ? undefined : index.templates.get(claim.metadata.namespace ?? "", name);
  const template = kept && isProjection(kept) ? await getTemplate(api, kept) : kept;
  const problem = template && contentsProblem(claim, template);
  if (problem) throw new Error(problem.message);
}

/** Discards a pool member that refuses a delivery, so that the claim gets another one, or reports the failure. */
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

/** Most bytes that a claim gets from Secrets, as many as one Secret has. Several deliveries are in memory at a time. */
const MOST_BYTES = 1 << 20;

/**
 * Returns what the claim sets by annotations, with the values of Secrets.
 *
 * @throws {Error} without values, if the author was not checked, or a value cannot be read
 */
export async function contentsOf(api: Api, claim: SandboxClaim): Promise<Delivery> {
  const contents = lateContents(claim);
  if (typeof contents === "string") throw new Error(contents);
  const { env, files, start } = contents;
  const wanted = [...env, ...files];
  if (wanted.length === 0) return { env: {}, files: [], start };
  const { namespace = "" } = claim.metadata;
  const names = [...new Set(wanted.map(({ secret }) => secret))];
  const read = async (name: string) => [name, await readSecret(api, namespace, name)] as const;
  // At the same time, because the client waits for the claim. Without the check, it learns nothing about the Secrets.
  const reading = Promise.all(names.map(read));
  reading.catch(() => {});
  requireCheck(claim.metadata, await checkedSince(api, POLICY), POLICY);
  const secrets = new Map(await reading);
  const encoded = ({ secret, key }: SecretValue) => {
    const value = secrets.get(secret)?.[key];
    if (value === undefined) throw new Error(`Secret ${secret} has no key ${key}`);
    return value;
  };
  const bytes = wanted.reduce((sum, value) => sum + Buffer.byteLength(encoded(value), "base64"), 0);
  if (bytes > MOST_BYTES) {
    throw new Error(`the values of Secrets have ${bytes} bytes together; at most ${MOST_BYTES} are allowed`);
  }
  return {
    env: Object.fromEntries(env.map((value) => [value.name, textOf(value, encoded(value))])),
    files: files.map((value) => ({ path: value.name, content: encoded(value) })),
    start,
  };
}

function textOf({ secret, key }: SecretValue, encoded: string): string {
  const value = Buffer.from(encoded, "base64").toString();
  if (value.includes("\0") || value.includes("\uFFFD")) throw new Error(`key ${key} of Secret ${secret} is not text`);
  return value;
}

async function readSecret(api: Api, namespace: string, name: string): Promise<Record<string, string>> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "secrets", namespace, name }) });
  if (answer.status === 404) throw new Error(`Secret ${name} does not exist`);
  if (!isOk(answer)) {
    throw new Error(`the binder cannot read Secret ${name}: ${messageOf(answer)}. See docs/howto/secrets.md`);
  }
  return (answer.body as { data?: Record<string, string> }).data ?? {};
}
