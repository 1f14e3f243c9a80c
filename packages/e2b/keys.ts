/** Knows the API keys of all projects: one Secret in each project's namespace has their hashes. @module */
import { Buffer } from "node:buffer";
import * as z from "zod";
import { isSame, keyHash, namespaceOfKey } from "../api/e2b/identity.ts";
import { keyEntriesOf, type KeyEntry, KEYS_SECRET, replacedKey, type Right } from "../api/e2b/objects.ts";
import { rfc3339 } from "../api/objects/conditions.ts";
import { objectMetaSchema } from "../api/objects/schemas.ts";
import { createStore } from "../kube/store.ts";
import { type Api, isOk, messageOf, pathOf } from "../kube/api.ts";
import { listAndWatch, type WatchOptions } from "../kube/watch.ts";
import { errorFields, type Log } from "../process/log.ts";
import { Problem } from "./problem.ts";

/** The sender of a request, by its API key. */
export interface Caller {
  namespace: string;
  /** Name of the API key. */
  key: string;
  rights: readonly Right[];
}

/** Finds the owner of an API key. */
export interface Keys {
  hasSynced(): boolean;
  /** @throws {Problem} 401 if the key is unknown or revoked, 403 if it lacks the right */
  callerOf(key: string | undefined, right: Right): Caller;
  /** Watches until `signal` fires. */
  watch(options: WatchOptions): Promise<void>;
}

const secretSchema = z.object({
  metadata: objectMetaSchema,
  data: z.record(z.string(), z.string()).optional(),
});
type Secret = z.infer<typeof secretSchema>;

/** How often the time of the last use is stored, in milliseconds. */
const USE_MS = 5 * 60_000;

const MISSING = 'API key is missing: send it in the header "X-API-KEY", or set E2B_API_KEY';
const UNKNOWN = "API key is not valid: `hookbox project key list` shows those that are";

/** @param now in milliseconds since the epoch */
export function createKeys(api: Api, log: Log, now: () => number): Keys {
  const store = createStore({ keep: (secret: Secret) => ({ metadata: secret.metadata, keys: entriesOf(secret) }) });
  /** When the use of a key was stored last, by hash. */
  const stored = new Map<string, number>();

  function noteUse(namespace: string, name: string, entry: KeyEntry, hash: string): void {
    const used = entry.replaced?.sha256 === hash ? entry.replaced : entry;
    const last = Math.max(stored.get(hash) ?? 0, Date.parse(used.lastUsedAt ?? "") || 0);
    if (now() - last < USE_MS) return;
    stored.set(hash, now());
    const noted = { ...used, lastUsedAt: rfc3339(new Date(now())) };
    const changed = used === entry ? noted : { ...entry, replaced: noted };
    const value = Buffer.from(JSON.stringify(changed)).toString("base64");
    const { resourceVersion } = store.get(namespace, KEYS_SECRET)?.metadata ?? {};
    // With the version: a key that somebody revokes at the same time stays revoked.
    const body = { metadata: { resourceVersion }, data: { [name]: value } };
    const path = pathOf({ resource: "secrets", namespace, name: KEYS_SECRET });
    const fail = (fields: object) =>
      log("warn", "Cannot store when a key was used", { namespace, key: name, ...fields });
    api.send({ method: "PATCH", path, body }).then((answer) => {
      // Somebody has changed the keys in between: the next use tries again.
      if (answer.status === 409) stored.delete(hash);
      else if (!isOk(answer)) fail({ status: answer.status, reason: messageOf(answer) });
    }, (error) => fail(errorFields(error)));
  }

  return {
    hasSynced: store.hasSynced,
    callerOf(key, right) {
      if (key === undefined || key === "") throw new Problem(401, MISSING);
      const namespace = namespaceOfKey(key);
      const hash = keyHash(key);
      const entries = namespace === undefined ? [] : [...store.get(namespace, KEYS_SECRET)?.keys ?? []];
      const isOf = (entry: KeyEntry) =>
        isSame(entry.sha256, hash) || isSame(replacedKey(entry, now())?.sha256 ?? "", hash);
      const [name, entry] = entries.find(([, entry]) => isOf(entry)) ?? [];
      if (namespace === undefined || name === undefined || !entry) throw new Problem(401, UNKNOWN);
      if (!entry.rights.includes(right)) {
        throw new Problem(403, `API key "${name}" may not ${right}: it has the rights ${entry.rights.join(", ")}`);
      }
      noteUse(namespace, name, entry, hash);
      return { namespace, key: name, rights: entry.rights };
    },
    watch: (options) =>
      listAndWatch(
        api,
        {
          path: pathOf({ resource: "secrets" }),
          // The role names the Secret, and the API server accepts that only together with this selector.
          query: { fieldSelector: `metadata.name=${KEYS_SECRET}` },
          parse: (object) => secretSchema.safeParse(object).data,
        },
        store,
        options,
      ),
  };
}

/** Entries that cannot be read are left out: they are no keys. */
function entriesOf({ data }: Secret): [string, KeyEntry][] {
  return keyEntriesOf(data).flatMap(([name, entry]) => entry ? [[name, entry]] : []);
}
