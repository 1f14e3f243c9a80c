/** The requests that the load sends to a cluster, except watches. @module */
import { answerError, type Api, isOk, type ObjectPath, pathOf } from "../../../packages/kube/api.ts";
import { sendAll } from "./send.ts";

/** How many requests run in parallel when a run is prepared and cleaned up. */
const CLIENTS = 16;

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
