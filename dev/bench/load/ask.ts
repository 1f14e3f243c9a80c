/** The few things that the load does to a cluster besides watching. @module */
import { answerError, type Api, isOk, type ObjectPath, pathOf } from "../../../packages/kube/api.ts";
import { sendAll } from "./send.ts";

/** How many requests at once prepare and clear a run. */
const CLIENTS = 16;

/** Creates an object in the collection of `path`. @throws if the API server refuses it */
export async function create(api: Api, path: ObjectPath, body: { kind: string; metadata: { name: string } }) {
  const answer = await api.send({ method: "POST", path: pathOf(path), body });
  if (!isOk(answer)) throw answerError(`create ${body.kind} ${body.metadata.name}`, answer);
}

/** Creates many at once. @throws the first refusal */
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

/** Deletes many at once; what is gone already is fine. */
export async function removeAll(api: Api, paths: readonly ObjectPath[]): Promise<void> {
  await sendAll(paths.length, { kind: "burst", clients: CLIENTS }, async (index) => {
    const path = paths[index];
    if (path) await remove(api, path);
  });
}

/** Deletes one object. @throws if the API server refuses, unless it is gone */
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
