/** Stores all Sandboxes and their Pods as the watches report them, and finds them by name and UID. @module */
import type { EventHandler } from "../../kube/watch.ts";
import { createAddresses } from "./addresses.ts";
import type { PodRecord, SandboxRecord } from "./records.ts";

/** A Sandbox with its Pods. */
export interface Entry {
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
   * When this process last saw `evidence` change, in milliseconds of its monotonic clock; undefined: it has not
   * changed.
   */
  evidenceSeenAt: number | undefined;
  /** The same for `sandbox.asked`. */
  askedSeenAt: number | undefined;
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
  find(namespace: string, name: string): Entry | undefined;
  /**
   * Calls `listener` after each change of the Sandbox of that name or of its Pods, until the returned function is
   * called.
   */
  onChange(namespace: string, name: string, listener: () => void): () => void;
  /** All Sandboxes. */
  entries(): Iterable<Entry>;
}

const NO_PODS: ReadonlyMap<string, PodRecord> = new Map();
const FORMER_IPS = 4;
const DEPARTED = 10_000;

/**
 * Makes an empty index.
 *
 * @param onPodGone called with addresses that no longer belong to their Pod
 * @param now in milliseconds since the epoch
 */
export function createSandboxIndex(
  onPodGone: (ips: readonly string[]) => void = () => {},
  now: () => number = Date.now,
): SandboxIndex {
  const byUID = new Map<string, Entry>();
  const byName = new Map<string, Entry>();
  const podsByUID = new Map<string, PodRecord>();
  const addresses = createAddresses();
  /** By namespace and UID of the Sandbox: a Pod cannot belong to a Sandbox in another namespace. */
  const podsOfSandbox = new Map<string, Map<string, PodRecord>>();
  /** UIDs of deleted Sandboxes and Pods: a late answer must not add them again. */
  const departed = new Set<string>();
  /** Versions from answers, by UID, until the watch reaches them. Watch events until then are older, and ignored. */
  const ahead = new Map<string, string>();
  /** UIDs from answers since the current list began: the list may not contain them. */
  const sinceList = new Set<string>();
  const listeners = new Map<string, Set<() => void>>();

  function tell({ metadata }: SandboxRecord): void {
    for (const listener of [...listeners.get(keyOf(metadata)) ?? []]) listener();
  }

  function depart(uid: string): void {
    departed.add(uid);
    const [oldest] = departed;
    if (departed.size > DEPARTED && oldest !== undefined) departed.delete(oldest);
  }

  function entryOf(sandbox: SandboxRecord): Entry {
    const { namespace, uid } = sandbox.metadata;
    const pods = podsOfSandbox.get(`${namespace}/${uid}`) ?? NO_PODS;
    const unseen = { evidenceSeenAt: undefined, askedSeenAt: undefined, failingSince: undefined };
    const { lost } = addresses;
    return { sandbox, pods, lost, isBeingSuspended: false, formerIPs: [], suspects: new Set<string>(), ...unseen };
  }

  function observeSandbox(sandbox: SandboxRecord): void {
    const { uid, resourceVersion } = sandbox.metadata;
    if (isOlder(resourceVersion, ahead.get(uid))) return;
    ahead.delete(uid);
    departed.delete(uid);
    put(sandbox);
  }

  function answered(sandbox: SandboxRecord): void {
    const { uid, resourceVersion } = sandbox.metadata;
    const known = byUID.get(uid)?.sandbox;
    if (departed.has(uid) || isOlder(resourceVersion, known?.metadata.resourceVersion)) return;
    if (known?.metadata.resourceVersion !== resourceVersion) {
      ahead.set(uid, resourceVersion);
      sinceList.add(uid);
    }
    put(sandbox);
  }

  function put(sandbox: SandboxRecord): void {
    const { uid } = sandbox.metadata;
    const known = byUID.get(uid);
    const entry = known ?? entryOf(sandbox);
    if (entry.sandbox.evidence !== sandbox.evidence) entry.evidenceSeenAt = performance.now();
    if (entry.sandbox.asked !== sandbox.asked) entry.askedSeenAt = performance.now();
    entry.sandbox = sandbox;
    if (sandbox.isSuspended) { for (const pod of entry.pods.keys()) entry.suspects.add(pod); }
    const isFailing = sandbox.conditions.some(({ type, status }) => type === "ContainersFailing" && status === "True");
    entry.failingSince = isFailing ? entry.failingSince ?? now() : undefined;
    byUID.set(uid, entry);
    // The newest Sandbox has the name. A Sandbox that is deleted and created again has two UIDs for a moment.
    const holder = byName.get(keyOf(sandbox.metadata));
    if (!holder || !isOlder(sandbox.metadata.resourceVersion, holder.sandbox.metadata.resourceVersion)) {
      byName.set(keyOf(sandbox.metadata), entry);
    }
    tell(sandbox);
  }

  function forgetSandbox(uid: string): void {
    ahead.delete(uid);
    const entry = byUID.get(uid);
    if (!entry) return;
    byUID.delete(uid);
    const key = keyOf(entry.sandbox.metadata);
    if (byName.get(key) === entry) byName.delete(key);
    tell(entry.sandbox);
  }

  /** Removes Sandboxes that are not in the list, then gives their names to older Sandboxes that are. */
  function listedSandboxes(uids: ReadonlySet<string>): void {
    for (const uid of [...byUID.keys()]) if (!uids.has(uid) && !sinceList.has(uid)) forgetSandbox(uid);
    for (const entry of byUID.values()) {
      const key = keyOf(entry.sandbox.metadata);
      if (byName.has(key)) continue;
      byName.set(key, entry);
      tell(entry.sandbox);
    }
    sinceList.clear();
  }

  /** Returns the entry of the Sandbox that controls a Pod; undefined: it is not known, or in another namespace. */
  function controllerOf({ metadata: { namespace }, sandboxUID = "" }: PodRecord): Entry | undefined {
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
    tell(entry.sandbox);
  }

  function observePod(pod: PodRecord): void {
    const { metadata: { namespace, uid }, sandboxUID } = pod;
    const known = podsByUID.get(uid);
    if (known && known.sandboxUID !== sandboxUID) forgetPod(uid);
    podsByUID.set(uid, pod);
    const taken = addresses.put(pod);
    if (taken.length > 0) onPodGone(taken);
    if (sandboxUID === undefined) return;
    const key = `${namespace}/${sandboxUID}`;
    // The map is changed in place: with thousands of Pods for one Sandbox, a copy at each event would be expensive.
    const pods = podsOfSandbox.get(key) ?? new Map<string, PodRecord>();
    podsOfSandbox.set(key, pods.set(uid, pod));
    const entry = controllerOf(pod);
    if (!entry) return;
    entry.pods = pods;
    if (entry.sandbox.isSuspended) entry.suspects.add(uid);
    tell(entry.sandbox);
  }

  function answeredPod(pod: PodRecord): void {
    const { uid, resourceVersion } = pod.metadata;
    if (departed.has(uid) || isOlder(resourceVersion, podsByUID.get(uid)?.metadata.resourceVersion)) return;
    observePod(pod);
  }

  return {
    sandboxes: {
      listing() {
        sinceList.clear();
        // The list contains everything, and versions may be lower than before.
        ahead.clear();
      },
      observe: observeSandbox,
      gone(uid) {
        forgetSandbox(uid);
        depart(uid);
      },
      listed: listedSandboxes,
    },
    answered,
    answeredPod,
    pods: {
      observe(pod) {
        departed.delete(pod.metadata.uid);
        observePod(pod);
      },
      gone(uid) {
        forgetPod(uid);
        depart(uid);
      },
      listed: (uids) => [...podsByUID.keys()].filter((uid) => !uids.has(uid)).forEach(forgetPod),
    },
    find: (namespace, name) => byName.get(`${namespace}/${name}`),
    entries: () => byUID.values(),
    onChange(namespace, name, listener) {
      const key = `${namespace}/${name}`;
      const set = listeners.get(key) ?? new Set();
      listeners.set(key, set.add(listener));
      return () => {
        set.delete(listener);
        if (set.size === 0 && listeners.get(key) === set) listeners.delete(key);
      };
    },
  };
}

/** Versions are growing numbers, except after a restore of etcd. */
function isOlder(version: string, than: string | undefined): boolean {
  return than !== undefined && Number(version) < Number(than);
}

function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}
