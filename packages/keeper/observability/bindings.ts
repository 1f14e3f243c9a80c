/** Matches claims with their Sandboxes, whichever watch is ahead, and notifies a listener of bindings. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import { type ClaimView, type SandboxView, viewClaim, viewSandbox } from "../../summary/views.ts";
import type { EventHandler } from "../../kube/watch.ts";

/** Called once for each claim and Sandbox. */
export interface BindingListener {
  /**
   * A claim names this Sandbox, and the Sandbox names the claim.
   *
   * @param isNew false: the claim had it before this process began to watch
   */
  onBound(claim: ClaimView, sandbox: SandboxView, isNew: boolean): void;
  /** A claim has become Ready for the first time; the Sandbox is undefined if it was never seen. */
  onFirstReady(claim: ClaimView, sandbox: SandboxView | undefined): void;
}

export interface Bindings {
  claims: EventHandler<SandboxClaim>;
  sandboxes: EventHandler<Sandbox>;
  /** Returns all claims that exist. */
  views(): Iterable<ClaimView>;
}

/** How long the entry of a deleted claim waits for its Sandbox: the other watch may lag behind. */
const PATIENCE_MS = 30_000;

interface Entry {
  /** Undefined: only its Sandboxes have been seen. */
  claim: ClaimView | undefined;
  /**
   * Sandboxes that the claim controls, by namespace and name. More than one only for moments, or if a user has changed
   * owners.
   */
  given: Map<string, SandboxView>;
  /** Name of the Sandbox that the claim had when it was first listed. */
  before: string | undefined;
  /** UID of the Sandbox that was reported to the listener. */
  bound: string | undefined;
  ready: "not yet" | "due" | "told";
  closing: ReturnType<typeof setTimeout> | undefined;
}

interface State {
  listener: BindingListener;
  /** By UID of the claim. */
  entries: Map<string, Entry>;
  /** By UID of the Sandbox: the UID of its claim, and its key in `given`. */
  placeOf: Map<string, { claim: string; key: string }>;
  isListed: boolean;
}

/** Creates the two event handlers. `signal` ends all waiting. */
export function createBindings(listener: BindingListener, signal: AbortSignal): Bindings {
  const state: State = { listener, entries: new Map(), placeOf: new Map(), isListed: false };
  signal.addEventListener("abort", () => {
    for (const { closing } of state.entries.values()) clearTimeout(closing);
  });
  return {
    claims: {
      observe: (claim) => observeClaim(state, viewClaim(claim)),
      gone: (uid) => claimGone(state, uid),
      listed() {
        state.isListed = true;
      },
    },
    sandboxes: {
      observe: (sandbox) => observeSandbox(state, sandbox),
      gone: (uid) => sandboxGone(state, uid),
    },
    *views() {
      for (const { claim, closing } of state.entries.values()) if (claim && closing === undefined) yield claim;
    },
  };
}

function observeClaim(state: State, claim: ClaimView): void {
  const { uid } = claim.regarding;
  const entry = entryOf(state, uid);
  if (!entry.claim && !state.isListed) {
    entry.before = claim.sandbox;
    if (claim.isReady || claim.firstReadyAt !== undefined) entry.ready = "told";
  }
  entry.claim = claim;
  if (entry.ready === "not yet" && claim.firstReadyAt !== undefined) entry.ready = "due";
  settle(state.listener, entry);
}

function observeSandbox(state: State, sandbox: Sandbox): void {
  const view = viewSandbox(sandbox);
  const uid = sandbox.metadata.uid ?? "";
  if (view?.claim !== state.placeOf.get(uid)?.claim) sandboxGone(state, uid);
  if (!view) return;
  const entry = entryOf(state, view.claim);
  const key = keyOf(view);
  const known = entry.given.get(key);
  // Keep the first time at which it was Ready: that may have passed before the claim's status arrives.
  const readyAt = (known?.uid === uid ? known.readyAt : undefined) ?? view.readyAt;
  entry.given.set(key, { ...view, readyAt });
  state.placeOf.set(uid, { claim: view.claim, key });
  settle(state.listener, entry);
}

/** Notifies the listener of what is new. Most notifications need both the claim and the Sandbox. */
function settle(listener: BindingListener, entry: Entry): void {
  const { claim, given } = entry;
  if (!claim) return;
  const sandbox = ownOf(claim, given);
  if (sandbox && entry.bound !== sandbox.uid) {
    entry.bound = sandbox.uid;
    const isNew = entry.before !== sandbox.name;
    // A later Sandbox with the same name counts as new.
    entry.before = undefined;
    listener.onBound(claim, sandbox, isNew);
  }
  if (entry.ready === "due" && sandbox?.readyAt !== undefined) {
    entry.ready = "told";
    listener.onFirstReady(claim, sandbox);
  }
}

/**
 * Returns the Sandbox that the claim names, in the claim's namespace. A Sandbox whose owner is a claim of another
 * namespace is ignored.
 */
function ownOf({ sandbox, regarding }: ClaimView, given: Entry["given"]): SandboxView | undefined {
  return sandbox === undefined ? undefined : given.get(keyOf({ namespace: regarding.namespace, name: sandbox }));
}

function keyOf({ namespace, name }: Pick<SandboxView, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** Returns whether the claim's status shows a binding or readiness that its Sandbox does not confirm yet. */
function isOpen({ claim, bound, ready }: Entry): boolean {
  return (claim?.sandbox !== undefined && bound === undefined) || ready === "due";
}

function claimGone({ listener, entries }: State, uid: string): void {
  const entry = entries.get(uid);
  if (!entry?.claim || entry.closing !== undefined) return;
  if (isOpen(entry)) entry.closing = setTimeout(close, PATIENCE_MS, listener, entries, uid, entry);
  else close(listener, entries, uid, entry);
}

/** Drops the entry of a deleted claim. If readiness was not reported because the Sandbox was missing, it is reported now. */
function close(listener: BindingListener, entries: State["entries"], uid: string, entry: Entry): void {
  const { claim, given } = entry;
  if (claim && entry.ready === "due") listener.onFirstReady(claim, ownOf(claim, given));
  entries.delete(uid);
  if (given.size > 0) entries.set(uid, { ...newEntry(), given });
}

function sandboxGone({ entries, placeOf }: State, uid: string): void {
  const { claim, key } = placeOf.get(uid) ?? { claim: "", key: "" };
  const entry = entries.get(claim);
  placeOf.delete(uid);
  if (!entry) return;
  // A new Sandbox of the same name may have been shown before this one's deletion.
  if (entry.given.get(key)?.uid === uid) entry.given.delete(key);
  if (!entry.claim && entry.given.size === 0) entries.delete(claim);
}

function entryOf({ entries }: State, uid: string): Entry {
  const entry = entries.get(uid) ?? newEntry();
  entries.set(uid, entry);
  return entry;
}

function newEntry(): Entry {
  return {
    claim: undefined,
    given: new Map(),
    before: undefined,
    bound: undefined,
    ready: "not yet",
    closing: undefined,
  };
}
