/** Records Kubernetes Events about objects, and counts repeated ones. Never fails: a lost Event is logged. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Resource, Store } from "./store.ts";

const SOURCE = "metacontroller-stand-in";
const BURST = 25;
const REFILL_MS = 300_000;
const REMEMBERED = 4096;

export interface Recorder {
  record(object: KubeObject, type: "Normal" | "Warning", reason: string, message: string): void;
  /** Number of Events that are being written. */
  busy(): number;
}

/**
 * Makes a recorder. It writes up to 25 Events per object at once and one more every five minutes, and drops the rest.
 */
export function createRecorder(store: Store, lost: (error: unknown) => void): Recorder {
  const known = new Map<string, KubeObject>();
  const budget = new Map<string, { tokens: number; at: number }>();
  let tail: Promise<void> = Promise.resolve();
  let busy = 0;

  function spend(uid: string): boolean {
    const now = store.clock.now();
    const { tokens, at } = budget.get(uid) ?? { tokens: BURST, at: now };
    const left = Math.min(BURST, tokens + (now - at) / REFILL_MS) - 1;
    if (left < 0) return false;
    remember(budget, uid, { tokens: left, at: now });
    return true;
  }

  async function write(event: KubeObject): Promise<void> {
    const resource = await store.resource("v1", "events");
    const key = JSON.stringify([event["involvedObject"], event["reason"], event["message"]]);
    const last = known.get(key);
    const written = last ? await repeat(store, resource, last, event) : await store.create(resource, event);
    remember(known, key, written);
  }

  return {
    record(object, type, reason, message) {
      if (!spend(object.metadata.uid ?? "")) return;
      busy++;
      const event = eventOf(object, type, reason, message, new Date(store.clock.now()));
      tail = tail.then(() => write(event)).catch(lost).finally(() => busy--);
    },
    busy: () => busy,
  };
}

async function repeat(store: Store, resource: Resource, last: KubeObject, event: KubeObject): Promise<KubeObject> {
  const again = { ...last, count: Number(last["count"]) + 1, lastTimestamp: event["lastTimestamp"] };
  return await store.update(resource, again).catch(() => store.create(resource, event));
}

function eventOf(object: KubeObject, type: string, reason: string, message: string, now: Date): KubeObject {
  const { name, namespace, uid = "", resourceVersion } = object.metadata;
  const time = now.toISOString().replace(/\.\d+Z$/, "Z");
  const unique = `${now.getTime().toString(16)}${Math.floor(Math.random() * 2 ** 32).toString(16)}`;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${unique}`, namespace: namespace ?? "default" },
    involvedObject: { apiVersion: object.apiVersion, kind: object.kind, name, namespace, uid, resourceVersion },
    type,
    reason,
    message: message.slice(0, 1024),
    source: { component: SOURCE },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > REMEMBERED && oldest !== undefined) map.delete(oldest);
}
