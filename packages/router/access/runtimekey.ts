/**
 * Lets clients that may reach a sandbox bind variables and files to it: the router adds the token of the sandbox's
 * runtime, which it derives from the namespace's key. Clients never see the token or the key. @module
 */
import { Buffer } from "node:buffer";
import { deriveRuntimeToken, RUNTIME_KEY_ENTRY, RUNTIME_KEY_SECRET } from "../../api/router/scopedtoken.ts";
import { answerError, type Api, isOk, pathOf } from "../../kube/api.ts";
import { errorFields, type Log } from "../../process/log.ts";
import type { Target } from "../destination.ts";
import type { Refusal } from "../refusal.ts";

/** The runtime's path for late binding. The token is for no other request. */
const BIND_PATH = /^\/v1\/bind(\?|$)/;

/** The tokens that the router has for runtimes. */
export interface RuntimeCredentials {
  /**
   * Tells whether a request is a delivery, which needs the token of the runtime. Another port belongs to another program, which may show the
   * token to somebody who may not connect to the runtime.
   *
   * @param path path and query for the sandbox
   */
  isFor(target: Target, path: string): boolean;
  /**
   * Returns the headers with the token for the runtime in a Pod: names and values in turn. Empty if the namespace has no
   * key, or the UID of the Pod is not known: the runtime then refuses the request itself.
   */
  headers(namespace: string, podUID: string | undefined): Promise<string[] | Refusal>;
}

/** How long a key is kept, in milliseconds: a new key takes effect within this time. */
const KEPT_MS = 30_000;

const UNREADABLE: Refusal = {
  status: 503,
  detail: `Cannot bind: Secret ${RUNTIME_KEY_SECRET} cannot be used; the router's log says why.`,
};

/** Reads keys from the Secrets `hookbox-runtime-key`. */
export function createRuntimeCredentials(
  { api, log, runtimePort }: { api: Api; log: Log; runtimePort: number },
  now = () => performance.now(),
): RuntimeCredentials {
  const kept = new Map<string, { key: Promise<Uint8Array | undefined>; until: number }>();

  async function readKey(namespace: string): Promise<Uint8Array | undefined> {
    const answer = await api.send({
      method: "GET",
      path: pathOf({ resource: "secrets", namespace, name: RUNTIME_KEY_SECRET }),
    });
    if (answer.status === 404) return undefined;
    if (!isOk(answer)) throw answerError(`get Secret ${namespace}/${RUNTIME_KEY_SECRET}`, answer);
    const text = (answer.body as { data?: Record<string, string> }).data?.[RUNTIME_KEY_ENTRY] ?? "";
    return Buffer.from(text, "base64");
  }

  function keyOf(namespace: string): Promise<Uint8Array | undefined> {
    for (const [name, { until }] of kept) if (until <= now()) kept.delete(name);
    const before = kept.get(namespace);
    if (before) return before.key;
    const entry = { key: readKey(namespace), until: now() + KEPT_MS };
    kept.set(namespace, entry);
    entry.key.catch(() => kept.get(namespace) === entry && kept.delete(namespace));
    return entry.key;
  }

  return {
    isFor: ({ port }, path) => port === runtimePort && BIND_PATH.test(path),
    async headers(namespace, podUID) {
      try {
        const key = podUID === undefined ? undefined : await keyOf(namespace);
        if (!key || podUID === undefined) return [];
        return ["Authorization", `Bearer ${await deriveRuntimeToken(key, podUID)}`];
      } catch (error) {
        log("warn", "Cannot use the key of the runtimes", { namespace, ...errorFields(error), stack: undefined });
        return UNREADABLE;
      }
    },
  };
}
