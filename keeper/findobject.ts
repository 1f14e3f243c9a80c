/** Reads one object from the API server. Decides nothing. @module */
import { answerError, type Api, isOk, type ObjectPath, pathOf } from "../kube/api.ts";

/** Reads an object; undefined: it does not exist. @throws {Error} if the API server refuses, or the object is unreadable */
export async function findObject<T>(
  api: Api,
  object: ObjectPath & { name: string },
  schema: { parse(object: unknown): T },
): Promise<T | undefined> {
  const { resource, namespace, name } = object;
  const answer = await api.send({ method: "GET", path: pathOf(object) });
  if (answer.status === 404) return undefined;
  const scoped = namespace === undefined ? name : `${namespace}/${name}`;
  if (!isOk(answer)) throw answerError(`get ${resource} ${scoped}`, answer);
  return schema.parse(answer.body);
}
