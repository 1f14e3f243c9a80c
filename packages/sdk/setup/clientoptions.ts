/** Options of a client, and the environment variables that replace them. @module */
import type { Api } from "../../kube/api.ts";
import type { PodWay } from "../transport/direct.ts";

/** How to reach the cluster and its sandboxes. Every option has a default. */
export interface ClientOptions {
  /** Path of a kubeconfig file. @default KUBECONFIG, else the Pod's ServiceAccount, else `~/.kube/config` */
  kubeconfig?: string;
  /** Name of a context in that file. @default the current context */
  context?: string;
  /** Namespace of sandboxes. @default HOOKBOX_NAMESPACE, else that of the context or the Pod, else `default` */
  namespace?: string;
  /**
   * How requests reach programs in a sandbox. `router`: through hookbox's router, which also resumes suspended
   * sandboxes and records when they were last used. `direct`: to the Pod's IP address; only from a Pod of the cluster.
   * `forward`: by port-forward through the API server.
   *
   * @default `router` if there is a `routerUrl`; else `direct` in a Pod, and `forward` with a kubeconfig
   */
  connection?: "router" | "direct" | "forward";
  /** URL of the router. @default HOOKBOX_ROUTER_URL */
  routerUrl?: string;
  /** The router's option `--domain`, for URLs of ports. @default HOOKBOX_ROUTER_DOMAIN */
  routerDomain?: string;
  /** The router's option `--path-routing-prefix`, for URLs of ports. @default HOOKBOX_ROUTER_PATH_PREFIX */
  routerPathPrefix?: string;
  /** Bearer token for the router. A function is called before each request. @default HOOKBOX_TOKEN, or none */
  token?: string | (() => string | Promise<string>);
  /**
   * Only in browsers. `omit` sends no cookies to the router, and ignores cookies that a sandbox sets. Otherwise these
   * would become cookies of the page's own origin.
   *
   * @default same-origin
   */
  credentials?: "omit" | "same-origin";
  /** Sends the requests to the router, in place of the global `fetch`. @default the global `fetch` */
  fetch?: (url: URL, request: RequestInit) => Promise<Response>;
  /** Token of the runtime in the sandbox, if it requires one. A router does not pass it on. */
  runtimeToken?: string;
  /** Secret that signs URLs of ports: the router's own, at least 32 bytes. @default HOOKBOX_SIGNING_SECRET */
  signingSecret?: string | Uint8Array;
  /**
   * Ed25519 key that signs URLs of ports instead of a secret: the name under which the router has its public key, and
   * the private key (PKCS #8) in PEM. The URL is valid only for this Sandbox, not for a later Sandbox of the same name.
   * To sign a URL, the client reads the Sandbox from the cluster.
   *
   * @default HOOKBOX_SIGNING_KEY with HOOKBOX_SIGNING_KEY_ID, unless there is a `signingSecret`
   */
  signingKey?: { id: string; privateKey: string };
  /** An API server that replaces the cluster, such as that of `@hookbox/testing`. */
  api?: Api;
  /** A way to reach Pods without the network, such as that of `@hookbox/testing`. */
  pods?: PodWay;
}

/**
 * Returns an environment variable. Undefined if it is not set or empty, if Deno does not allow reading it, or in a
 * browser.
 */
export function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  try {
    return process?.env?.[name] || undefined;
  } catch {
    // Deno throws if the program may not read the variable.
    return undefined;
  }
}

/**
 * Returns whether the program runs in an operating system process, with files and environment variables. False in a
 * browser.
 */
export function hasProcess(): boolean {
  return "process" in globalThis;
}
