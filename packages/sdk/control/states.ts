/** Yields the states of one object from a watch, which is opened again whenever it ends. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Api, isOk, type ObjectPath, pathOf, type WatchEvent } from "../../kube/api.ts";
import { backoffMs } from "../../kube/backoff.ts";
import type { ObjectRef } from "../errors.ts";
import { pause } from "../runtime/repeat.ts";
import { callAPIIfFound, errorOfKube } from "./kube.ts";

/** Which object to watch, and from which state. */
export interface StatesOptions<T> {
  path: ObjectPath & { name: string };
  object: ObjectRef;
  /** A state that was read already; it is yielded first. Absent: the object is read. */
  known?: T;
  signal: AbortSignal;
}

/**
 * Yields the states of an object, or `undefined` while it does not exist. Does not end by itself.
 *
 * It sends one GET, unless a state is known, and then opens one watch. If the watch breaks or its version is too old,
 * it starts again with a GET: immediately the first time, then after 1 s, 2 s, … 30 s.
 *
 * @throws the reason of the signal when it is aborted, or an error of the API server that waiting cannot fix
 */
export async function* statesOf<T extends Pick<KubeObject, "metadata">>(
  api: Api,
  { path, object, known, signal }: StatesOptions<T>,
): AsyncGenerator<T | undefined> {
  let state = known;
  for (let failures = 0;; failures++) {
    state ??= await callAPIIfFound<T>(api, {
      method: "GET",
      path: pathOf(path),
      action: `read ${object.kind} ${object.name}`,
      object,
      signal,
    });
    yield state;
    const version = state?.metadata.resourceVersion;
    const opened = performance.now();
    try {
      for await (const event of await watch(api, path, version, object, signal)) {
        if (event.type === "ERROR") break;
        if (event.type === "BOOKMARK") continue;
        yield event.type === "DELETED" ? undefined : event.object as T;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
    }
    signal.throwIfAborted();
    state = undefined;
    if (performance.now() - opened > 1000) failures = -1;
    else if (failures > 0) await pause(backoffMs(failures - 1), signal);
  }
}

async function watch(
  api: Api,
  path: ObjectPath & { name: string },
  version: string | undefined,
  object: ObjectRef,
  signal: AbortSignal,
): Promise<AsyncIterable<WatchEvent>> {
  const { name, ...collection } = path;
  const query = {
    fieldSelector: `metadata.name=${name}`,
    allowWatchBookmarks: "true",
    ...version === undefined ? {} : { resourceVersion: version },
  };
  const answer = await api.watch(pathOf(collection), query, signal);
  if (isOk(answer)) return answer.events;
  // 410 means that the version is too old. The next turn of the loop reads the object again.
  if (answer.status === 410 || answer.status >= 500 || answer.status === 429) return noEvents();
  throw errorOfKube(answer, { action: `watch ${object.kind} ${name}`, object });
}

async function* noEvents(): AsyncGenerator<WatchEvent> {}

function isFinal(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? "";
  return ["UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "INVALID_ARGUMENT"].includes(code);
}
