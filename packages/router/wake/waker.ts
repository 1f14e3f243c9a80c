/** Wakes suspended Sandboxes, and records which have just woken. @module */
import { rfc3339 } from "../../api/objects/conditions.ts";
import { SUSPENDED_ANNOTATION, WOKEN_AT_ANNOTATION } from "../../api/router/protocol.ts";
import { type Answer, isOk, messageOf, timeAt } from "../../kube/api.ts";
import { sleep } from "../../kube/backoff.ts";
import { errorFields, type Log } from "../../process/log.ts";
import type { Target } from "../destination.ts";
import { lifetimeRestore } from "../idle/suspend.ts";
import type { SandboxRecord } from "../index/records.ts";
import { getSandbox, type IndexedAPI, patchSandbox } from "../index/sandboxapi.ts";
import type { SandboxIndex } from "../index/sandboxindex.ts";
import { notFound, type Refusal, unreachable } from "../refusal.ts";

/**
 * Makes sure that the Sandbox's mode is Running; undefined: it is.
 *
 * @param admit called only if no other wake of this Sandbox is under way; a refusal ends this one
 */
export type Wake = (namespace: string, name: string, admit: () => Refusal | undefined) => Promise<Refusal | undefined>;

interface WakerParts extends IndexedAPI {
  log: Log;
  signal: AbortSignal;
  onWoken(namespace: string): void;
}

const TRIES = 8;
const PAUSE_MS = 200;

/**
 * Creates the waker. It sends one patch at a time for each Sandbox. If several routers wake a Sandbox, one succeeds,
 * because each patch names the version that was suspended; the others then see that it is Running.
 */
export function createWaker(parts: WakerParts): Wake {
  const running = new Map<string, Promise<Refusal | undefined>>();
  return (namespace, name, admit) => {
    const key = `${namespace}/${name}`;
    const underWay = running.get(key);
    if (underWay) return underWay;
    const refusal = admit();
    if (refusal) return Promise.resolve(refusal);
    const waking = wake(parts, namespace, name).finally(() => running.delete(key));
    running.set(key, waking);
    return waking;
  };
}

async function wake(parts: WakerParts, namespace: string, name: string): Promise<Refusal | undefined> {
  const { index, log, signal } = parts;
  let cause = "it keeps changing";
  for (let tries = 0; tries < TRIES && !signal.aborted; tries++) {
    const sandbox = index.find(namespace, name)?.sandbox;
    if (!sandbox) return notFound(namespace, name, "it does not exist");
    if (!sandbox.isSuspended) return undefined;
    try {
      const answer = await patch(parts, sandbox);
      if (isOk(answer)) return undefined;
      if (answer.status === 404) return notFound(namespace, name, "it does not exist");
      cause = messageOf(answer);
      // The Sandbox has changed, perhaps by another router: read it again.
      if (answer.status === 409) await getSandbox(parts, sandbox.metadata);
      else if (answer.status < 500 && answer.status !== 429) break;
      else await sleep(PAUSE_MS * 2 ** Math.min(tries, 4), signal);
    } catch (error) {
      cause = "the API server does not answer";
      log("warn", "Cannot wake a Sandbox", { namespace, name, ...errorFields(error), stack: undefined });
      await sleep(PAUSE_MS * 2 ** Math.min(tries, 4), signal);
    }
  }
  log("warn", "Cannot wake a Sandbox", { namespace, name, cause });
  return unreachable(name, `the sandbox is suspended and cannot be woken: ${cause}`);
}

async function patch(parts: WakerParts, sandbox: SandboxRecord): Promise<Answer> {
  const { metadata } = sandbox;
  const { namespace, name, uid, resourceVersion } = metadata;
  const before = lifetimeRestore(sandbox);
  const annotations = {
    ...before.metadata?.annotations,
    [WOKEN_AT_ANNOTATION]: rfc3339(new Date(timeAt(parts.api))),
    [SUSPENDED_ANNOTATION]: null,
  };
  const body = { metadata: { resourceVersion, annotations }, spec: { ...before.spec, operatingMode: "Running" } };
  const answer = await patchSandbox(parts, metadata, body);
  if (!isOk(answer)) return answer;
  parts.onWoken(namespace);
  parts.log("info", "Woken", { namespace, name, uid });
  return answer;
}

export interface RecentWakes {
  /** Records that the sandbox can be reached after a wait. @param since when the wait began, by `performance.now()` */
  reached(target: Target, since: number): void;
  /**
   * Tells whether to go on waiting for an app that does not listen yet: the request is younger than `wakeTimeout`, and so is the
   * wake, as this router has seen it or as another router's annotation says.
   *
   * @param since when the request began, by `performance.now()`
   */
  mayNotListenYet(target: Target, since: number): boolean;
}

/** If there are more entries, expired ones are removed. */
const MANY_ENTRIES = 10_000;

/**
 * Creates the record.
 *
 * @param wakeTimeout longest wait for a sandbox that wakes up, in milliseconds
 * @param now in milliseconds since the epoch
 */
export function createRecentWakes(index: SandboxIndex, wakeTimeout: number, now: () => number): RecentWakes {
  /** When each entry expires, by sandbox. */
  const until = new Map<string, number>();
  return {
    reached({ namespace, name }, since) {
      const at = performance.now();
      if (until.size >= MANY_ENTRIES) { for (const [key, end] of until) if (end <= at) until.delete(key); }
      until.set(`${namespace}/${name}`, since + wakeTimeout);
    },
    mayNotListenYet({ namespace, name }, since) {
      const at = performance.now();
      if (at - since >= wakeTimeout) return false;
      const key = `${namespace}/${name}`;
      if ((until.get(key) ?? -Infinity) > at) return true;
      until.delete(key);
      const wokenAt = Date.parse(index.find(namespace, name)?.sandbox.annotations[WOKEN_AT_ANNOTATION] ?? "");
      return now() < wokenAt + wakeTimeout;
    },
  };
}
