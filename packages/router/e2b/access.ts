/** Finds the sandbox of a request from an E2B client, and decides whether the client may reach the port. @module */
import type { IncomingMessage } from "node:http";
import { fileSignature, isIDOf, isSame, isTokenOf, tokenOf, traitsOf } from "../../api/e2b/identity.ts";
import { ANONYMOUS_HEADER, ENVD_PORT, INTERPRETER_PORT } from "../../api/router/protocol.ts";
import type { ChosenTarget } from "../access/gate.ts";
import type { SandboxEntry, SandboxIndex } from "../index/sandboxindex.ts";
import { badRequest, type Target } from "../destination.ts";
import type { Refusal } from "../refusal.ts";
import { type E2BRequest, NO_SANDBOX, OPEN_TO_PAGES } from "./request.ts";

/** Decides about requests of E2B's clients. */
export interface E2BAccess {
  /** Whether there is a secret. Otherwise the router does not serve E2B's clients. */
  isServed(): boolean;
  /** Domain whose hosts `<port>-<ID>` name sandboxes; undefined: none. */
  domain: string | undefined;
  /** Decides. Waits for a moment if no Sandbox of this ID is known: it may have been created just now. */
  decide(named: E2BRequest, request: IncomingMessage): ChosenTarget | Promise<ChosenTarget>;
  /**
   * Calls `listener` once when the sandbox has ended, until the returned function is called. SDKs tell by a stream that
   * is cut, and not ended, that their sandbox was killed.
   */
  onEnded(target: Target, listener: () => void): () => void;
}

interface AccessParts {
  index: SandboxIndex;
  secrets(): readonly Uint8Array[];
  domain: string | undefined;
  /** Ports of the runtime's own API, which admit nobody without a token. */
  runtimePorts: readonly number[];
}

/** How long a request waits until the watch shows a Sandbox that has just been claimed, in milliseconds. */
const WATCH_LAG_MS = 1000;
/** Most requests that wait for one. */
const MOST_WAITING = 1000;
const TOKENS = ["x-access-token", "e2b-traffic-access-token"];
const WITHHELD: ReadonlySet<string> = new Set(TOKENS);
/** A runtime refuses pages of other origins, because it does not know that the router has checked their token. */
const WITHHELD_FROM_RUNTIME: ReadonlySet<string> = new Set([...TOKENS, "origin"]);

/** Creates the decisions. */
export function createE2BAccess({ index, secrets, domain, runtimePorts }: AccessParts): E2BAccess {
  let waiting = 0;

  function find(id: string): SandboxEntry | undefined {
    // Computed once for each namespace: a claim of this name elsewhere may have many Sandboxes.
    const foreign = new Set<string>();
    for (const entry of index.ofClaim(id)) {
      const { namespace } = entry.sandbox.metadata;
      if (foreign.has(namespace)) continue;
      // A claim of this name in another namespace is not the client's.
      if (isIDOf(secrets(), namespace, id)) return entry;
      foreign.add(namespace);
    }
    return undefined;
  }

  async function untilKnown(id: string): Promise<SandboxEntry | undefined> {
    waiting++;
    try {
      return await new Promise((resolve) => {
        const end = (found: SandboxEntry | undefined) => {
          clearTimeout(timer);
          unlisten();
          resolve(found);
        };
        const timer = setTimeout(() => end(undefined), WATCH_LAG_MS);
        const unlisten = index.onClaimChange(id, () => find(id) && end(find(id)));
      });
    } finally {
      waiting--;
    }
  }

  function decided(named: E2BRequest, request: IncomingMessage, entry: SandboxEntry | undefined): ChosenTarget {
    const path = originPath(request);
    const routeTo = (target: Target) => ({ target, path, base: "", via: named.via });
    if (!entry?.sandbox.claim) {
      return { route: routeTo({ namespace: "", name: named.id, port: named.port }), decision: NO_SANDBOX };
    }
    const { metadata: { namespace, name, uid }, claim } = entry.sandbox;
    const target: Target = { namespace, name, port: named.port };
    const traits = traitsOf(named.id);
    const identity = { namespace, id: named.id, uid: claim.uid };
    const [, route = ""] = /^(\/[^?]*)/.exec(path) ?? [];
    const access = textOf(request.headers["x-access-token"]);
    const hasAccess = access !== undefined && isTokenOf(secrets(), "access", identity, access);
    const asked = { ...named, path, route, identity, hasAccess, isPublic: traits?.isPublic === true };
    // Without a token, a client may only learn whether the sandbox runs.
    if (!traits?.autoResume || (isHealthCheck(asked) && !hasAccess)) target.wakes = false;
    const isEnvd = [ENVD_PORT, INTERPRETER_PORT].includes(named.port);
    const decision = refusalFor(asked, request, secrets(), runtimePorts) ?? {
      client: `e2b:${named.id}`,
      isAnonymous: false,
      mayEmbed: true,
      expires: undefined,
      path,
      uid,
      added: [
        ...authorizationOf(request, named, runtimePorts),
        ...isEnvd || hasAccess ? [] : [ANONYMOUS_HEADER, "true"],
      ],
      ...isEnvd
        ? { withheld: WITHHELD_FROM_RUNTIME, addedToResponse: Object.entries(OPEN_TO_PAGES).flat() }
        : { withheld: WITHHELD },
    };
    return { route: routeTo(target), decision };
  }

  return {
    isServed: () => secrets().length > 0,
    domain,
    decide(named, request) {
      if (!(named.port >= 1 && named.port <= 65_535)) {
        const target = { namespace: "", name: named.id, port: 0 };
        const decision = badRequest("Port of the sandbox is not valid.");
        return { route: { target, path: "/", base: "", via: named.via }, decision };
      }
      const entry = find(named.id);
      const isComing = !entry && traitsOf(named.id) !== undefined && !index.hadClaim(named.id) &&
        waiting < MOST_WAITING;
      return isComing
        ? untilKnown(named.id).then((found) => decided(named, request, found))
        : decided(named, request, entry);
    },
    onEnded({ namespace, name, uid }, listener) {
      const stop = index.onChange(namespace, name, () => {
        const { sandbox } = index.find(namespace, name) ?? {};
        if (sandbox?.metadata.uid === uid && !sandbox?.isDeleting) return;
        stop();
        listener();
      });
      return stop;
    },
  };
}

/**
 * SDKs join a base URL that ends in a slash with a path that begins with one. A fragment does not belong into a request:
 * the runtime cuts it off, so the rules below must not see another path.
 */
function originPath({ url = "/" }: IncomingMessage): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, "").replace(/#.*$/s, "");
  return `/${path.replace(/^\/+/, "")}`;
}

/**
 * Returns the header Authorization for the sandbox, as name and value. In E2B's protocol, it admits to nothing: port 49983
 * takes the user from it, and to programs it belongs. To the runtime's own API, the router itself authenticates.
 */
function authorizationOf(
  { headers }: IncomingMessage,
  { port }: E2BRequest,
  runtimePorts: readonly number[],
): string[] {
  const { authorization } = headers;
  return authorization === undefined || runtimePorts.includes(port) ? [] : ["Authorization", authorization];
}

/** A request for a port of a sandbox that exists. */
interface AskedPort extends E2BRequest {
  path: string;
  /** The path without its query. */
  route: string;
  identity: { namespace: string; id: string; uid: string };
  hasAccess: boolean;
  isPublic: boolean;
}

function isHealthCheck({ port, route }: AskedPort): boolean {
  return port === ENVD_PORT && route === "/health";
}

/**
 * Returns why a client may not use a port; undefined: it may.
 *
 * | port | path | needs |
 * |---|---|---|
 * | 49983 | `/health` | nothing |
 * | 49983 | `/files` | X-Access-Token; without this header, a signature |
 * | 49983 | any other | X-Access-Token |
 * | 49999 | any but `/health` and `/contexts`, for which SDKs send no token | X-Access-Token |
 * | those of the runtime's own API | any | X-Access-Token |
 * | any other, and the two paths of 49999 | any | E2B-Traffic-Access-Token, if the sandbox was created with `allowPublicTraffic: false` |
 */
function refusalFor(
  asked: AskedPort,
  { headers, method }: IncomingMessage,
  secrets: readonly Uint8Array[],
  runtimePorts: readonly number[],
): Refusal | undefined {
  const { port, path, route, identity, hasAccess, isPublic } = asked;
  const needsAccess = runtimePorts.includes(port) || (port === ENVD_PORT && !isHealthCheck(asked)) ||
    (port === INTERPRETER_PORT && !OPEN_TO_TRAFFIC.test(route));
  if (needsAccess) {
    if (hasAccess) return undefined;
    const isSigned = port === ENVD_PORT && route === "/files" && headers["x-access-token"] === undefined &&
      isFileSigned(path, method, identity, secrets);
    return isSigned ? undefined : UNAUTHENTICATED;
  }
  if (port === ENVD_PORT || isPublic || hasAccess) return undefined;
  const traffic = textOf(headers["e2b-traffic-access-token"]);
  const isAdmitted = traffic !== undefined && isTokenOf(secrets, "traffic", identity, traffic);
  return isAdmitted ? undefined : NO_TRAFFIC;
}

/** Paths of the code interpreter that run no code. */
const OPEN_TO_TRAFFIC = /^\/(health|contexts(\/[^/]+(\/restart)?)?)$/;

const UNAUTHENTICATED: Refusal = {
  status: 401,
  detail: "Access token is missing or not valid: send the sandbox's envdAccessToken in the header X-Access-Token.",
};
const NO_TRAFFIC: Refusal = {
  status: 403,
  detail: "Traffic token is missing or not valid: send the sandbox's trafficAccessToken in the header " +
    "E2B-Traffic-Access-Token.",
};

function textOf(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Names of parameters that a signature is for, and its own. */
const SIGNED = ["path", "username", "signature", "signature_expiration"];

/** Tells whether the URL has a signature for this file, which has not expired. */
function isFileSigned(
  path: string,
  method: string | undefined,
  identity: AskedPort["identity"],
  secrets: readonly Uint8Array[],
): boolean {
  const text = path.slice(path.indexOf("?") + 1);
  const query = new URLSearchParams(text);
  // The runtime must read the same values: URLSearchParams drops a second "?", and others may take the last of a name.
  if (text.startsWith("?") || SIGNED.some((name) => query.getAll(name).length > 1)) return false;
  const signature = query.get("signature");
  if (!path.includes("?") || signature === null) return false;
  const expiration = query.get("signature_expiration") ?? undefined;
  if (expiration !== undefined && !(Number(expiration) * 1000 > Date.now())) return false;
  const operation = method === "GET" || method === "HEAD" ? "read" : method === "POST" ? "write" : undefined;
  if (!operation) return false;
  const file = { path: query.get("path") ?? "", operation, user: query.get("username") ?? "", expiration } as const;
  return secrets.some((secret) => isSame(fileSignature(file, tokenOf(secret, "access", identity)), signature));
}
