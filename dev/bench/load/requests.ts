/**
 * Sends the load's requests to a cluster, except watches. Each is sent when it is due, even if earlier ones have not
 * been answered. A burst is sent by a few clients. @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Arrivals, dueTimes } from "../../../packages/cli/pool/simulate.ts";
import { answerError, type Api, isOk, type ObjectPath, pathOf } from "../../../packages/kube/api.ts";

/** How many requests run in parallel when a run is prepared and cleaned up. */
const CLIENTS = 16;

/**
 * Calls `ask` with 0, 1, … `count` - 1, and resolves when every call has resolved. If a call rejects, it makes no more
 * calls and rejects with the first error.
 *
 * @param ask is called with the index and when the call was due (`performance.now()` milliseconds). Latencies count
 * from that time, so that a load that is late cannot hide it. In a burst, a call is due when a client is free.
 */
export async function sendAll(
  count: number,
  arrivals: Arrivals,
  ask: (index: number, due: number) => Promise<void>,
): Promise<void> {
  if (arrivals.kind === "burst") {
    const indexes = Array.from({ length: count }, (_, index) => index).values();
    const client = async () => {
      for (const index of indexes) await ask(index, performance.now());
    };
    await Promise.all(Array.from({ length: arrivals.clients }, client));
    return;
  }
  const begun = performance.now();
  const running: Promise<void>[] = [];
  const failures: unknown[] = [];
  for (const [index, ms] of dueTimes(count, arrivals).entries()) {
    if (failures.length > 0) break;
    const due = begun + ms;
    const wait = due - performance.now();
    if (wait > 0) await sleep(wait);
    // The error is handled now: a rejection that nobody awaits yet would end the process.
    running.push(ask(index, due).catch((error) => void failures.push(error)));
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}

/** Creates an object in the collection of `path`. @throws if the API server refuses it */
export async function create(api: Api, path: ObjectPath, body: { kind: string; metadata: { name: string } }) {
  const answer = await api.send({ method: "POST", path: pathOf(path), body });
  if (!isOk(answer)) throw answerError(`create ${body.kind} ${body.metadata.name}`, answer);
}

/** Creates `count` objects in parallel. @throws the first refusal */
export async function createAll(
  api: Api,
  count: number,
  make: (index: number) => { path: ObjectPath; body: Parameters<typeof create>[2] },
): Promise<void> {
  await sendAll(count, { kind: "burst", clients: CLIENTS }, async (index) => {
    const { path, body } = make(index);
    await create(api, path, body);
  });
}

/** Deletes objects in parallel. Objects that no longer exist are ignored. */
export async function removeAll(api: Api, paths: readonly ObjectPath[]): Promise<void> {
  await sendAll(paths.length, { kind: "burst", clients: CLIENTS }, async (index) => {
    const path = paths[index];
    if (path) await remove(api, path);
  });
}

/** Deletes one object. @throws if the API server refuses, unless the object does not exist */
export async function remove(api: Api, path: ObjectPath): Promise<void> {
  const answer = await api.send({ method: "DELETE", path: pathOf(path) });
  if (!isOk(answer) && answer.status !== 404) throw answerError(`delete ${path.resource} ${path.name}`, answer);
}

/** Lists a whole collection. @throws if the API server refuses */
export async function listAll<T>(api: Api, resource: ObjectPath["resource"]): Promise<T[]> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource }) });
  if (!isOk(answer)) throw answerError(`list ${resource}`, answer);
  return (answer.body as { items: T[] }).items;
}
