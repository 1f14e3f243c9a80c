/** Creates, lists and revokes the API keys of a project. @module */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { apiKeyOf, keyHash } from "../../api/e2b/identity.ts";
import { keyEntriesOf, type KeyEntry, KEYS_SECRET, type Right } from "../../api/e2b/objects.ts";
import { type Answer, type Api, isOk, messageOf, pathOf } from "../../kube/api.ts";
import { Failure } from "../failure.ts";

/** An API key as it is stored. */
export interface StoredKey extends KeyEntry {
  name: string;
}

/** Returns the API keys of a project, sorted by name. */
export async function listKeys(api: Api, namespace: string): Promise<StoredKey[]> {
  const answer = await api.send({ method: "GET", path: pathFor(namespace) });
  if (answer.status === 404) return [];
  if (!isOk(answer)) throw refused("list the API keys", namespace, answer);
  const { data } = answer.body as { data?: Record<string, string> };
  return keyEntriesOf(data).flatMap(([name, entry]) => entry ? [{ name, ...entry }] : []);
}

/**
 * Creates an API key and stores its hash.
 *
 * @returns the key, which is stored nowhere
 * @throws {Failure} if there is a key of this name
 */
export async function createKey(
  api: Api,
  namespace: string,
  name: string,
  rights: readonly Right[],
  now: Date,
): Promise<string> {
  const key = apiKeyOf(namespace, randomBytes(24));
  const entry: KeyEntry = { sha256: keyHash(key), rights: [...rights], createdAt: now.toISOString() };
  const data = { [name]: Buffer.from(JSON.stringify(entry)).toString("base64") };
  const found = await api.send({ method: "GET", path: pathFor(namespace) });
  if (found.status === 404) {
    const body = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: KEYS_SECRET, namespace, labels: { "app.kubernetes.io/part-of": "hookbox" } },
      data,
    };
    const made = await api.send({ method: "POST", path: pathFor(namespace).replace(/\/[^/]*$/, ""), body });
    if (!isOk(made)) throw refused(`create API key "${name}"`, namespace, made);
    return key;
  }
  if (!isOk(found)) throw refused(`create API key "${name}"`, namespace, found);
  const { data: before = {}, metadata } = found.body as StoredSecret;
  if (Object.hasOwn(before, name)) {
    const remedy = "Use another name, or revoke that key first.";
    throw new Failure(`Cannot create API key "${name}": project ${namespace} has a key of this name`, remedy);
  }
  // With the version, so that of two keys of one name only one is created.
  const body = { metadata: { resourceVersion: metadata.resourceVersion }, data };
  const changed = await api.send({ method: "PATCH", path: pathFor(namespace), body });
  if (!isOk(changed)) throw refused(`create API key "${name}"`, namespace, changed);
  return key;
}

interface StoredSecret {
  metadata: { resourceVersion?: string };
  data?: Record<string, string>;
}

/** Revokes an API key: hookbox refuses it from now on. @throws {Failure} if there is none of this name */
export async function revokeKey(api: Api, namespace: string, name: string): Promise<void> {
  const found = await api.send({ method: "GET", path: pathFor(namespace) });
  const { data = {} } = (isOk(found) ? found.body : {}) as Partial<StoredSecret>;
  if (found.status !== 404 && !isOk(found)) throw refused(`revoke API key "${name}"`, namespace, found);
  if (!Object.hasOwn(data, name)) {
    const remedy = `"hookbox project key list ${namespace}" lists its keys.`;
    throw new Failure(`Cannot revoke API key "${name}": project ${namespace} has none of this name`, remedy);
  }
  const answer = await api.send({ method: "PATCH", path: pathFor(namespace), body: { data: { [name]: null } } });
  if (!isOk(answer)) throw refused(`revoke API key "${name}"`, namespace, answer);
}

function pathFor(namespace: string): string {
  return pathOf({ resource: "secrets", namespace, name: KEYS_SECRET });
}

function refused(action: string, namespace: string, answer: Answer): Failure {
  return new Failure(`Cannot ${action} of project ${namespace}: ${messageOf(answer)}`);
}
