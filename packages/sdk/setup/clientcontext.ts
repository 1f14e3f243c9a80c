/**
 * Holds what all calls of one client share: the cluster, the namespace, the transports to sandboxes, and the signature of
 * URLs with the client's secret or private key. @module
 */
import type { Subject } from "../../api/diagnosis/facts.ts";
import type { Finding } from "../../api/diagnosis/finding.ts";
import { podNameOf } from "../../api/objects/names.ts";
import { WAKE_TIMEOUT_MS } from "../../api/router/protocol.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { Api } from "../../kube/api.ts";
import type { Credentials } from "../../kube/credentials.ts";
import { setMode } from "../control/change.ts";
import { readSandbox, refOf, type Target } from "../control/find.ts";
import { readinessOf } from "../control/readiness.ts";
import { type Diagnose, untilReady } from "../control/ready.ts";
import { ConnectionError, InvalidArgumentError, UnsupportedError } from "../errors.ts";
import {
  createPodTransport,
  type PodAccess,
  podOrigin,
  type PodPlace,
  type PodWay,
  type PodWishes,
} from "../transport/direct.ts";
import { createRouterTransport, type RouterAccess } from "../transport/router.ts";
import type { SandboxTransport } from "../transport/transport.ts";
import { type ClientOptions, hasProcess, variable } from "./clientoptions.ts";
import type { FoundCluster } from "./cluster.ts";
import {
  isKeyID,
  readSigningKey,
  signSandboxToken,
  signToken,
  type TokenClaims,
} from "../../api/router/scopedtoken.ts";

/** User agent of the SDK, as the API server's audit log shows it. */
const USER_AGENT = "hookbox-sdk";

/** What all calls of one client share. */
export interface ClientContext {
  options: ClientOptions;
  api(): Promise<Api>;
  /** Returns the namespace of calls that do not name one. */
  namespace(): Promise<string>;
  /** Whether the client has a router. Only a router suspends idle sandboxes. */
  hasRouter: boolean;
  /** Returns true if the client has a router but no cluster. A name then means a Sandbox, not a claim. */
  isRouterAlone(): Promise<boolean>;
  /**
   * Creates the transport to a Sandbox; opens no connection yet.
   *
   * @param podIP last known address of its Pod, which saves a lookup; undefined: not known
   */
  transportTo(namespace: string, sandboxName: string, podIP?: string): Promise<SandboxTransport>;
  /** Finds the root cause of an object's state. */
  why(subject: Subject, signal?: AbortSignal): Promise<Finding>;
}

/** Creates the context of a client. The cluster is looked up at the first call that needs it. */
export function createClientContext(options: ClientOptions): ClientContext {
  let finding: Promise<FoundCluster> | undefined;
  const cluster = (): Promise<FoundCluster> => {
    finding ??= findOrTake(options);
    finding.catch(() => finding = undefined);
    return finding;
  };
  const api = async () => (await cluster()).api;
  const router = routerOf(options);
  const isRouterAlone = async () => router !== undefined && await cluster().then(() => false, () => true);
  const kindOfTransport = async (): Promise<SandboxTransport["kind"]> => {
    if (options.connection) return options.connection;
    if (router) return "router";
    const { credentials, isInside } = await cluster();
    return credentials && !isInside ? "forward" : "direct";
  };
  return {
    options,
    api,
    hasRouter: router !== undefined,
    isRouterAlone,
    async namespace() {
      const named = options.namespace ?? variable("HOOKBOX_NAMESPACE");
      if (named !== undefined || await isRouterAlone()) return named ?? "default";
      return (await cluster()).namespace ?? "default";
    },
    async transportTo(namespace, name, podIP) {
      const kind = await kindOfTransport();
      if (kind !== "router") {
        // The Pod has the Sandbox's name, except in pools that older controllers (before 1.0) created. If the first
        // request fails for such a Pod, the transport looks up the Pod.
        const hint = podIP === undefined ? undefined : { namespace, name, ip: podIP };
        const access = await podAccess(kind, await cluster(), options.pods, namespace, name);
        return createPodTransport(access, namespace, name, hint);
      }
      if (router) return createRouterTransport(router, namespace, name);
      throw new InvalidArgumentError("Cannot connect by a router: there is no routerUrl", {
        remedy: "Give it, or set HOOKBOX_ROUTER_URL.",
      });
    },
    async why(subject, signal) {
      // Loaded at the first call, because most programs never need it.
      const { explain } = await import("../control/facts.ts");
      return await explain(await api(), subject, signal);
    },
  };
}

async function findOrTake(options: ClientOptions): Promise<FoundCluster> {
  const { api } = options;
  if (api) return { api, credentials: undefined, namespace: undefined, isInside: false };
  if (!hasProcess()) {
    throw new UnsupportedError("Cannot find a cluster: a browser has no kubeconfig", {
      remedy: "Give the client a `routerUrl`, and `connect` to sandboxes that are there.",
    });
  }
  // This module needs a disk and certificates, so it must not be part of a bundle for browsers.
  const { findCluster } = await import("./cluster.ts");
  return await findCluster(options, USER_AGENT);
}

async function podAccess(
  kind: "direct" | "forward",
  { api, credentials }: FoundCluster,
  way: PodWay | undefined,
  namespace: string,
  name: string,
): Promise<PodAccess> {
  const find: PodAccess["find"] = (wishes) => findPod(api, namespace, name, wishes);
  if (kind === "direct") {
    const network = { reach: (pod: PodPlace, port: number) => Promise.resolve(podOrigin(pod, port)) };
    const direct: PodAccess = { kind, find, ...way ?? network, close: async () => {} };
    return credentials ? { ...direct, exec: await execOf(credentials) } : direct;
  }
  if (!credentials) {
    throw new InvalidArgumentError("Cannot forward ports: the client was given an API, and no kubeconfig");
  }
  const { createForward } = await import("../transport/forward.ts");
  return { ...createForward(credentials, find), exec: await execOf(credentials) };
}

async function execOf(credentials: Credentials): Promise<NonNullable<PodAccess["exec"]>> {
  const { execInPod } = await import("../transport/exec.ts");
  return (pod, request) => execInPod(credentials, pod, request);
}

function routerOf(options: ClientOptions): RouterAccess | undefined {
  const url = options.routerUrl ?? variable("HOOKBOX_ROUTER_URL");
  if (url === undefined) return undefined;
  if (!URL.canParse(url)) throw new InvalidArgumentError(`Cannot use router "${url}": it is not a URL`);
  const token = options.token ?? variable("HOOKBOX_TOKEN");
  return {
    url: url.replace(/\/+$/, ""),
    token: typeof token === "string" ? () => token : token,
    domain: options.routerDomain ?? variable("HOOKBOX_ROUTER_DOMAIN"),
    pathPrefix: options.routerPathPrefix ?? variable("HOOKBOX_ROUTER_PATH_PREFIX"),
    credentials: options.credentials,
    fetch: options.fetch,
  };
}

/**
 * Finds the Pod of a Sandbox, and waits until the Sandbox is Ready.
 *
 * @throws {@link ConnectionError} if the Sandbox is suspended and `wake` is false
 */
export async function findPod(
  api: Api,
  namespace: string,
  name: string,
  { wake, signal }: PodWishes,
): Promise<PodPlace> {
  const target: Target = { kind: "Sandbox", namespace, name };
  let sandbox: Sandbox = await readSandbox(api, namespace, name, signal);
  if (sandbox.spec.operatingMode === "Suspended") {
    if (!wake) {
      const details = { object: refOf(target), reason: "SandboxSuspended", mayHaveArrived: false };
      throw new ConnectionError(`Cannot reach sandbox ${namespace}/${name}: it is suspended`, details);
    }
    sandbox = await setMode(api, target, "Running", signal);
  }
  const readiness = readinessOf(sandbox);
  if (readiness.state === "ready") return { namespace, name: podNameOf(sandbox), ip: readiness.podIPs[0] ?? "" };
  const { claimOrSandbox, podIPs } = await untilReady(api, target, {
    // The same time as a router waits.
    readyTimeoutMs: WAKE_TIMEOUT_MS,
    diagnose: noDiagnosis,
    longer: "To wait longer, call `resume` with a `readyTimeoutMs`.",
    known: sandbox,
    ...signal ? { signal } : {},
  });
  // Read the name after the wait. On a copied Sandbox, it is the name of the original's Pod until the keeper corrects
  // it.
  return { namespace, name: podNameOf(claimOrSandbox), ip: podIPs[0] ?? "" };
}

const noDiagnosis: Diagnose = () => Promise.resolve(undefined);

/**
 * Returns a token that gives access to a port of a Sandbox for this many milliseconds.
 *
 * @throws {@link InvalidArgumentError} if the time is not finite, if the client has neither a secret nor a key, or if
 * the key is invalid
 * @throws {@link SandboxNotFoundError} if a key signs and the Sandbox does not exist: the token contains its UID
 */
export async function signAddress(
  { options, api }: ClientContext,
  what: Omit<TokenClaims, "exp">,
  validForMs: number,
  signal?: AbortSignal,
): Promise<string> {
  if (!Number.isFinite(validForMs)) {
    throw new InvalidArgumentError("Cannot sign an address: signedForMs is not finite");
  }
  const claims = { ...what, exp: Math.floor((Date.now() + validForMs) / 1000) };
  const signingKey = options.signingKey ?? (options.signingSecret === undefined ? keyOfEnvironment() : undefined);
  if (signingKey) {
    const { id, privateKey } = signingKey;
    if (!isKeyID(id)) throw new InvalidArgumentError(`Cannot sign an address: "${id}" is not the name of a key`);
    const key = await readSigningKey(privateKey).catch((cause) => {
      throw new InvalidArgumentError("Cannot sign an address: the key is not an Ed25519 private key in PEM", { cause });
    });
    const { metadata: { uid = "" } } = await readSandbox(await api(), claims.ns, claims.name, signal);
    return await signSandboxToken(key, id, { ...claims, uid });
  }
  const secret = options.signingSecret ?? variable("HOOKBOX_SIGNING_SECRET");
  if (secret === undefined) {
    throw new InvalidArgumentError("Cannot sign an address: there is no secret", {
      remedy:
        "Give the option `signingSecret`, one of the router's --authz-scoped-token-secret-file, or `signingKey`, " +
        "a key of its --authz-scoped-token-public-keys-file.",
    });
  }
  const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : new Uint8Array(secret);
  return await signToken(bytes, claims);
}

function keyOfEnvironment(): ClientOptions["signingKey"] {
  const [privateKey, id] = [variable("HOOKBOX_SIGNING_KEY"), variable("HOOKBOX_SIGNING_KEY_ID")];
  if (privateKey === undefined) return undefined;
  if (id !== undefined) return { id, privateKey };
  throw new InvalidArgumentError("Cannot sign an address: HOOKBOX_SIGNING_KEY_ID is not set", {
    remedy: "Set it to the name by which the router knows the public key.",
  });
}
