/** The states of one object, as they come: one watch, opened again whenever it ends. Decides nothing. @module */
import { type Api, isOk, type ObjectPath, pathOf, type WatchEvent } from "../../kube/api.ts";
import { backoffMs } from "../../kube/backoff.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { ObjectRef } from "../errors.ts";
import { pause } from "../runtime/repeat.ts";
import { askIfAny, errorOfKube } from "./kube.ts";

/** Which object, and from where on. */
export interface StatesOptions<T> {
  path: ObjectPath & { name: string };
  object: ObjectRef;
  /** A state that is known already, and shown first; absent: it is read. */
  known?: T;
  signal: AbortSignal;
}

/**
 * Yields the object's states, `undefined` for "it is not there"; never ends by itself.
 *
 * One GET unless a state is known, then one watch. A watch that breaks or is too old begins with a GET again, at once the
 * first time, then after 1 s, 2 s, … 30 s.
 *
 * @throws the signal's reason once it fires, or an error that the API server answers and waiting does not mend
 */
export async function* statesOf<T extends Pick<KubeObject, "metadata">>(
  api: Api,
  { path, object, known, signal }: StatesOptions<T>,
): AsyncGenerator<T | undefined> {
  let state = known;
  for (let failures = 0;; failures++) {
    state ??= await askIfAny<T>(api, {
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
  // 410: the version is too old; the next turn reads the object anew.
  if (answer.status === 410 || answer.status >= 500 || answer.status === 429) return noEvents();
  throw errorOfKube(answer, { action: `watch ${object.kind} ${name}`, object });
}

async function* noEvents(): AsyncGenerator<WatchEvent> {}

function isFinal(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? "";
  return ["UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "INVALID_ARGUMENT"].includes(code);
}
