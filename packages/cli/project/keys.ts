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
  const data = { [name]: encoded(entry) };
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

/**
 * Replaces an API key by a new one with the same name and rights. The old one works for a while.
 *
 * @param overlapMs how long the old one works; 0: it is refused from now on
 * @returns the new key, which is stored nowhere
 * @throws {Failure} if there is none of this name
 */
export async function rotateKey(
  api: Api,
  namespace: string,
  name: string,
  overlapMs: number,
  now: Date,
): Promise<string> {
  const action = `rotate API key "${name}"`;
  const found = await api.send({ method: "GET", path: pathFor(namespace) });
  if (found.status !== 404 && !isOk(found)) throw refused(action, namespace, found);
  const { data, metadata } = (isOk(found) ? found.body : {}) as Partial<StoredSecret>;
  const before = keyEntriesOf(data).find(([one]) => one === name)?.[1];
  if (!before) throw noKey(action, namespace);
  const key = apiKeyOf(namespace, randomBytes(24));
  const { sha256, rights, lastUsedAt } = before;
  const until = new Date(now.getTime() + overlapMs).toISOString();
  const entry: KeyEntry = {
    sha256: keyHash(key),
    rights,
    createdAt: now.toISOString(),
    ...overlapMs === 0 ? {} : { replaced: { sha256, until, ...lastUsedAt === undefined ? {} : { lastUsedAt } } },
  };
  // With the version, so that a key that somebody revokes at the same time stays revoked.
  const body = { metadata: { resourceVersion: metadata?.resourceVersion }, data: { [name]: encoded(entry) } };
  const changed = await api.send({ method: "PATCH", path: pathFor(namespace), body });
  if (!isOk(changed)) throw refused(action, namespace, changed);
  return key;
}

/** Revokes an API key: hookbox refuses it from now on. @throws {Failure} if there is none of this name */
export async function revokeKey(api: Api, namespace: string, name: string): Promise<void> {
  const found = await api.send({ method: "GET", path: pathFor(namespace) });
  const { data = {} } = (isOk(found) ? found.body : {}) as Partial<StoredSecret>;
  if (found.status !== 404 && !isOk(found)) throw refused(`revoke API key "${name}"`, namespace, found);
  if (!Object.hasOwn(data, name)) throw noKey(`revoke API key "${name}"`, namespace);
  const answer = await api.send({ method: "PATCH", path: pathFor(namespace), body: { data: { [name]: null } } });
  if (!isOk(answer)) throw refused(`revoke API key "${name}"`, namespace, answer);
}

function noKey(action: string, namespace: string): Failure {
  const remedy = `"hookbox project key list ${namespace}" lists its keys.`;
  return new Failure(`Cannot ${action}: project ${namespace} has none of this name`, remedy);
}

function encoded(entry: KeyEntry): string {
  return Buffer.from(JSON.stringify(entry)).toString("base64");
}

function pathFor(namespace: string): string {
  return pathOf({ resource: "secrets", namespace, name: KEYS_SECRET });
}

function refused(action: string, namespace: string, answer: Answer): Failure {
  return new Failure(`Cannot ${action} of project ${namespace}: ${messageOf(answer)}`);
}
