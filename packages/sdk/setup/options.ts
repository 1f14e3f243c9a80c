/** How a client of the SDK reaches the cluster and its sandboxes. No behaviour. @module */
import type { Api } from "../../kube/api.ts";
import type { PodWay } from "../transport/direct.ts";

/** Where the cluster is, who we are there, and the way to sandboxes. Everything has a default. */
export interface ClientOptions {
  /** A file. @default those of KUBECONFIG, the Pod's own ServiceAccount, or `~/.kube/config` */
  kubeconfig?: string;
  /** A context of that file. @default its current one */
  context?: string;
  /** Namespace of sandboxes. @default HOOKBOX_NAMESPACE, the context's, the Pod's, or `default` */
  namespace?: string;
  /**
   * Which way requests take to what runs inside. `router`: through hookbox's router, which also wakes and counts use.
   * `direct`: to the Pod's address, from another Pod. `forward`: by port-forward through the API server.
   *
   * @default `router` where there is a `routerUrl`; else `direct` in a Pod and `forward` with a kubeconfig
   */
  connection?: "router" | "direct" | "forward";
  /** Address of the router. @default HOOKBOX_ROUTER_URL */
  routerUrl?: string;
  /** The router's `--domain`, for addresses of ports. @default HOOKBOX_ROUTER_DOMAIN */
  routerDomain?: string;
  /** The router's `--path-routing-prefix`, for the same. @default HOOKBOX_ROUTER_PATH_PREFIX */
  routerPathPrefix?: string;
  /** Bearer token for the router; a function is asked before each request. @default HOOKBOX_TOKEN, or none */
  token?: string | (() => string | Promise<string>);
  /**
   * In browsers: `omit` sends the router no cookies, and keeps none that a sandbox sets, which would otherwise be cookies
   * of the page's own origin. Elsewhere there are none.
   *
   * @default same-origin
   */
  credentials?: "omit" | "same-origin";
  /** Token of the runtime in the sandbox, where one is mounted. Does not pass through a router. */
  runtimeToken?: string;
  /** Secret of the router by which addresses are signed, 32 bytes or more. @default HOOKBOX_SIGNING_SECRET */
  signingSecret?: string | Uint8Array;
  /**
   * Ed25519 key that signs addresses instead of a secret: the name by which the router knows its public key, and the private
   * key (PKCS #8) in PEM. Such an address opens only this Sandbox, but no later Sandbox of the same name. To sign it, the
   * client reads the Sandbox from the cluster.
   *
   * @default HOOKBOX_SIGNING_KEY, with HOOKBOX_SIGNING_KEY_ID, unless there is a `signingSecret`
   */
  signingKey?: { id: string; privateKey: string };
  /** An API server in place of all of these, such as that of `@hookbox/testing`. */
  api?: Api;
  /** A way to Pods in place of the network, such as that of `@hookbox/testing`. */
  pods?: PodWay;
}
