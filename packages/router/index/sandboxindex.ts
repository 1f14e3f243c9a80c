/** Stores all Sandboxes and their Pods as the watches report them, and finds them by name and UID. @module */
import { traitsOf } from "../../api/e2b/identity.ts";
import type { EventHandler } from "../../kube/watch.ts";
import { createAddresses } from "./addresses.ts";
import type { PodRecord, SandboxRecord } from "./records.ts";

/** A Sandbox with its Pods. */
export interface SandboxEntry {
  sandbox: SandboxRecord;
  /** By UID. */
  pods: ReadonlyMap<string, PodRecord>;
  /** UIDs of Pods of any Sandbox that have lost their address to a younger Pod. */
  lost: ReadonlySet<string>;
  /** Earlier addresses of its Pods: a client may still use one of them. */
  formerIPs: string[];
  /** UIDs of Pods that existed while the Sandbox was suspended: they may be terminating, observed or not. */
  suspects: Set<string>;
  /** This router is suspending it: requests wait for the outcome. */
  isBeingSuspended: boolean;
  /**
   * When this process last saw `observedUse` change, in milliseconds of its monotonic clock; undefined: it has not
   * changed.
   */
  useChangedAt: number | undefined;
  /** The same for `sandbox.observedRequests`. */
  requestsChangedAt: number | undefined;
  /** When this process first saw its containers fail, in milliseconds since the epoch; undefined: they do not fail. */
  failingSince: number | undefined;
}

export interface SandboxIndex {
  /** Handlers for the watches. The last event counts, whatever its version: a restore of etcd sets versions back. */
  sandboxes: EventHandler<SandboxRecord>;
  pods: EventHandler<PodRecord>;
  /**
   * Updates a Sandbox from an answer of the API server, which may be newer or older than the watch. The answer is
   * ignored if its version is older than the stored one, or if the watch has shown that the Sandbox is deleted.
   */
  answered(sandbox: SandboxRecord): void;
  /** The same for a Pod. */
  answeredPod(pod: PodRecord): void;
  find(namespace: string, name: string): SandboxEntry | undefined;
  /** Returns the Sandboxes, in all namespaces, that claims of this name have. Finds those whose claim E2B's clients made. */
  ofClaim(name: string): Iterable<SandboxEntry>;
  /**
   * Calls `listener` after each change of the Sandbox of that name or of its Pods, until the returned function is
   * called.
   */
  onChange(namespace: string, name: string, listener: () => void): () => void;
  /** Whether a claim of this name had a Sandbox that is gone. Remembers the last {@link MOST_DELETED}. */
  hadClaim(name: string): boolean;
  /** The same for changes of the Sandboxes of {@link SandboxIndex.ofClaim}. */
  onClaimChange(name: string, listener: () => void): () => void;
  /** All Sandboxes. */
  entries(): Iterable<SandboxEntry>;
}

const NO_PODS: ReadonlyMap<string, PodRecord> = new Map();
const FORMER_IPS = 4;
const MOST_DELETED = 10_000;

/**
 * Creates an empty index.
 *
 * @param onPodGone called with addresses that no longer belong to their Pod
 * @param now in milliseconds since the epoch
 */
export function createSandboxIndex(
  onPodGone: (ips: readonly string[]) => void = () => {},
  now: () => number = Date.now,
): SandboxIndex {
  const byUID = new Map<string, SandboxEntry>();
  const byName = new Map<string, SandboxEntry>();
  const podsByUID = new Map<string, PodRecord>();
  const addresses = createAddresses();
  /** By namespace and UID of the Sandbox: a Pod cannot belong to a Sandbox in another namespace. */
  const podsOfSandbox = new Map<string, Map<string, PodRecord>>();
  /** UIDs of deleted Sandboxes and Pods: a late answer must not add them again. */
  const deleted = new Set<string>();
  /** Versions from answers, by UID, until the watch reaches them. Watch events until then are older, and ignored. */
  const newerVersions = new Map<string, string>();
  /** UIDs from answers since the current list began: the list may not contain them. */
  const sinceList = new Set<string>();
  const listeners = new Map<string, Set<() => void>>();
  /** By name of the claim. */
  const byClaim = new Map<string, Set<SandboxEntry>>();
  /** Names of claims of E2B's clients whose Sandboxes are gone. */
  const formerClaims = new Set<string>();

  function notify({ metadata, claim }: SandboxRecord): void {
    const keys = [keyOf(metadata), ...claim ? [claim.name] : []];
    for (const listener of keys.flatMap((key) => [...listeners.get(key) ?? []])) listener();
  }

  function listen(key: string, listener: () => void): () => void {
    const set = listeners.get(key) ?? new Set();
    listeners.set(key, set.add(listener));
    return () => {
      set.delete(listener);
      if (set.size === 0 && listeners.get(key) === set) listeners.delete(key);
    };
  }

  function leaveClaim(entry: SandboxEntry): void {
    const { name = "" } = entry.sandbox.claim ?? {};
    const set = byClaim.get(name);
    set?.delete(entry);
    if (set?.size === 0) byClaim.delete(name);
  }

  function joinClaim(entry: SandboxEntry): void {
    const { name } = entry.sandbox.claim ?? {};
    if (name === undefined || !traitsOf(name)) return;
    byClaim.set(name, (byClaim.get(name) ?? new Set()).add(entry));
    formerClaims.delete(name);
  }

  function remember(names: Set<string>, name: string): void {
    names.add(name);
    const [oldest] = names;
    if (names.size > MOST_DELETED && oldest !== undefined) names.delete(oldest);
  }

  function entryOf(sandbox: SandboxRecord): SandboxEntry {
    const { namespace, uid } = sandbox.metadata;
    const pods = podsOfSandbox.get(`${namespace}/${uid}`) ?? NO_PODS;
    const unseen = { useChangedAt: undefined, requestsChangedAt: undefined, failingSince: undefined };
    const { lost } = addresses;
    return { sandbox, pods, lost, isBeingSuspended: false, formerIPs: [], suspects: new Set<string>(), ...unseen };
  }

  function observeSandbox(sandbox: SandboxRecord): void {
    const { uid, resourceVersion } = sandbox.metadata;
    if (isOlder(resourceVersion, newerVersions.get(uid))) return;
    newerVersions.delete(uid);
    deleted.delete(uid);
    put(sandbox);
  }

  function answered(sandbox: SandboxRecord): void {
    const { uid, resourceVersion } = sandbox.metadata;
    const stored = byUID.get(uid)?.sandbox;
    if (deleted.has(uid) || isOlder(resourceVersion, stored?.metadata.resourceVersion)) return;
    if (stored?.metadata.resourceVersion !== resourceVersion) {
      newerVersions.set(uid, resourceVersion);
      sinceList.add(uid);
    }
    put(sandbox);
  }

  function put(sandbox: SandboxRecord): void {
    const { uid } = sandbox.metadata;
    const stored = byUID.get(uid);
    const entry = stored ?? entryOf(sandbox);
    if (entry.sandbox.observedUse !== sandbox.observedUse) entry.useChangedAt = performance.now();
    if (entry.sandbox.observedRequests !== sandbox.observedRequests) entry.requestsChangedAt = performance.now();
    leaveClaim(entry);
    entry.sandbox = sandbox;
    joinClaim(entry);
    if (sandbox.isSuspended) { for (const pod of entry.pods.keys()) entry.suspects.add(pod); }
    const isFailing = sandbox.conditions.some(({ type, status }) => type === "ContainersFailing" && status === "True");
    entry.failingSince = isFailing ? entry.failingSince ?? now() : undefined;
    byUID.set(uid, entry);
    // The newest Sandbox has the name. A Sandbox that is deleted and created again has two UIDs for a moment.
    const current = byName.get(keyOf(sandbox.metadata));
    if (!current || !isOlder(sandbox.metadata.resourceVersion, current.sandbox.metadata.resourceVersion)) {
      byName.set(keyOf(sandbox.metadata), entry);
    }
    notify(sandbox);
  }

  function forgetSandbox(uid: string): void {
    newerVersions.delete(uid);
    const entry = byUID.get(uid);
    if (!entry) return;
    byUID.delete(uid);
    leaveClaim(entry);
    const { name: claim } = entry.sandbox.claim ?? {};
    if (claim !== undefined && traitsOf(claim)) remember(formerClaims, claim);
    const key = keyOf(entry.sandbox.metadata);
    if (byName.get(key) === entry) byName.delete(key);
    notify(entry.sandbox);
  }

  /** Removes Sandboxes that are not in the list, then gives their names to older Sandboxes that are. */
  function listedSandboxes(uids: ReadonlySet<string>): void {
    for (const uid of [...byUID.keys()]) if (!uids.has(uid) && !sinceList.has(uid)) forgetSandbox(uid);
    for (const entry of byUID.values()) {
      const key = keyOf(entry.sandbox.metadata);
      if (byName.has(key)) continue;
      byName.set(key, entry);
      notify(entry.sandbox);
    }
    sinceList.clear();
  }

  /** Returns the entry of the Sandbox that controls a Pod; undefined: it is not known, or in another namespace. */
  function controllerOf({ metadata: { namespace }, sandboxUID = "" }: PodRecord): SandboxEntry | undefined {
    const entry = byUID.get(sandboxUID);
    return entry?.sandbox.metadata.namespace === namespace ? entry : undefined;
  }

  function forgetPod(uid: string): void {
    const pod = podsByUID.get(uid);
    if (!pod) return;
    podsByUID.delete(uid);
    addresses.remove(pod);
    onPodGone(pod.ips);
    const key = `${pod.metadata.namespace}/${pod.sandboxUID}`;
    const pods = podsOfSandbox.get(key);
    pods?.delete(uid);
    if (pods?.size === 0) podsOfSandbox.delete(key);
    const entry = controllerOf(pod);
    if (!entry) return;
    entry.suspects.delete(uid);
    entry.formerIPs = [...pod.ips, ...entry.formerIPs].slice(0, FORMER_IPS);
    notify(entry.sandbox);
  }

  function observePod(pod: PodRecord): void {
    const { metadata: { namespace, uid }, sandboxUID } = pod;
    const stored = podsByUID.get(uid);
    if (stored && stored.sandboxUID !== sandboxUID) forgetPod(uid);
    podsByUID.set(uid, pod);
    const sharedIPs = addresses.put(pod);
    if (sharedIPs.length > 0) onPodGone(sharedIPs);
    if (sandboxUID === undefined) return;
    const key = `${namespace}/${sandboxUID}`;
    // The map is changed in place: with thousands of Pods for one Sandbox, a copy at each event would be expensive.
    const pods = podsOfSandbox.get(key) ?? new Map<string, PodRecord>();
    podsOfSandbox.set(key, pods.set(uid, pod));
    const entry = controllerOf(pod);
    if (!entry) return;
    entry.pods = pods;
    if (entry.sandbox.isSuspended) entry.suspects.add(uid);
    notify(entry.sandbox);
  }

  function answeredPod(pod: PodRecord): void {
    const { uid, resourceVersion } = pod.metadata;
    if (deleted.has(uid) || isOlder(resourceVersion, podsByUID.get(uid)?.metadata.resourceVersion)) return;
    observePod(pod);
  }

  return {
    sandboxes: {
      listing() {
        sinceList.clear();
        // The list contains everything, and versions may be lower than before.
        newerVersions.clear();
      },
      observe: observeSandbox,
      gone(uid) {
        forgetSandbox(uid);
        remember(deleted, uid);
      },
      listed: listedSandboxes,
    },
    answered,
    answeredPod,
    pods: {
      observe(pod) {
        deleted.delete(pod.metadata.uid);
        observePod(pod);
      },
      gone(uid) {
        forgetPod(uid);
        remember(deleted, uid);
      },
      listed: (uids) => [...podsByUID.keys()].filter((uid) => !uids.has(uid)).forEach(forgetPod),
    },
    find: (namespace, name) => byName.get(`${namespace}/${name}`),
    entries: () => byUID.values(),
    ofClaim: (name) => byClaim.get(name) ?? [],
    hadClaim: (name) => formerClaims.has(name),
    onChange: (namespace, name, listener) => listen(`${namespace}/${name}`, listener),
    onClaimChange: listen,
  };
}

/** Versions are growing numbers, except after a restore of etcd. */
function isOlder(version: string, than: string | undefined): boolean {
  return than !== undefined && Number(version) < Number(than);
}

function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}
