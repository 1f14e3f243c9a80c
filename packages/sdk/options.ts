/** Options of the SDK for creating, waiting for and listing sandboxes, and what a list contains. @module */
import { InvalidArgumentError } from "./errors.ts";

/** A volume for one sandbox. It lasts as long as the sandbox, also while the sandbox is suspended. */
export interface VolumeOptions {
  name: string;
  /** Size as a Kubernetes quantity, such as `1Gi`. */
  size: string;
  /** Path at which it is mounted. Only with `image`; otherwise the template has a mount for the volume's name. */
  path?: string;
  /** Name of a StorageClass. @default the cluster's default class */
  storageClass?: string;
}

/** What a sandbox may reach through the egress proxy of its namespace. */
export interface NetworkOptions {
  /**
   * Host names, `*.example.com` for all names below a domain, addresses and networks such as `10.1.0.0/16`. Each with
   * `:PORT`, or for the ports 80 and 443. An empty list: nothing.
   */
  allow: string[];
}

/** The state of a sandbox while a call waits for it. */
export interface Progress {
  /** Reason of the Ready condition; empty while there is no condition. */
  reason: string;
  /** What the sandbox is waiting for, as a sentence; may be empty. */
  message: string;
  /** Milliseconds since the call started. */
  elapsedMs: number;
}

/** How long to wait for a sandbox, and a signal that cancels the wait. */
export interface WaitOptions {
  /** How long to wait until the sandbox is Ready, in milliseconds. @default 180000 */
  readyTimeoutMs?: number;
  /** Cancels the call. An object that the call created is deleted again. */
  signal?: AbortSignal;
  /** Called whenever the reason of the state changes during the wait. */
  onProgress?: (progress: Progress) => void;
}

/** What to create. Set exactly one of `pool`, `template` and `image`. */
export interface CreateOptions extends WaitOptions, EnvOptions {
  /** Name of a SandboxWarmPool. If the pool has a free Sandbox, the sandbox is Ready at once. */
  pool?: string;
  /**
   * Name of a SandboxTemplate. A pool of this template is used if there is one. Otherwise the sandbox starts cold, from
   * a pool of size 0 that is created for it.
   */
  template?: string;
  /** Container image. Creates a Sandbox without a template and without a claim. */
  image?: string;
  /** @default `sandbox-` and eight random characters */
  name?: string;
  /** Namespace of the new object. @default the client's */
  namespace?: string;
  /**
   * Environment variables of the sandbox. With a pool or template, its template must allow it, and the sandbox starts
   * cold unless the template allows late binding.
   */
  env?: Record<string, string> | undefined;
  /**
   * Environment variables with values from Secrets of the namespace, such as `{ API_KEY: "example-api/key" }`: name of the
   * Secret and key in it. You must have the right to read these Secrets. Needs a pool or template whose template allows
   * late binding and variables, as do `secretFiles` and `startCommand`. At most 8 values together with `secretFiles`.
   */
  secrets?: Record<string, string> | undefined;
  /**
   * Files with values from Secrets, by path in the sandbox, such as `{ "~/.netrc": "example-api/netrc" }`. Their mode is
   * 0600.
   */
  secretFiles?: Record<string, string> | undefined;
  /**
   * Command for `sh -c`, which starts when the sandbox has its variables and files, once in each Pod. `commands.list` shows
   * it under the name `start-command`.
   */
  startCommand?: string | undefined;
  /**
   * CPU and memory of the first container, such as `{ cpu: "2", memory: "4Gi" }`. With a pool or template, its template
   * must allow it. A sandbox of the pool is then resized while it runs if the cluster can do that. Otherwise the sandbox
   * starts cold. With `image`, they are request and limit of the container.
   *
   * @default those of the template
   */
  resources?: ResourceOptions | undefined;
  /**
   * Narrows what the sandbox may reach. Needs a pool or template whose template has rules for an egress proxy, and only
   * what these rules allow can be listed.
   *
   * @default all that the template allows
   */
  network?: NetworkOptions | undefined;
  /** Labels of the new object, for `list` and `kubectl get -l`. */
  labels?: Record<string, string>;
  /** Annotations of the new object: any data you want to store. */
  metadata?: Record<string, string>;
  /** Labels of the Pod, in addition to those of its template. */
  podLabels?: Record<string, string>;
  /** Annotations of the Pod, in addition to those of its template. */
  podAnnotations?: Record<string, string>;
  /**
   * Time until the sandbox is deleted with its Pod and volumes, in milliseconds from now. With null, and with `Infinity`,
   * it is never deleted, unless its pool has a default lifecycle. `setTimeout` and `extendTimeout` change the time.
   *
   * @default 3600000 (one hour)
   */
  timeoutMs?: number | null;
  /**
   * Idle time after which the router suspends the sandbox, in milliseconds. The client needs a `routerUrl`.
   *
   * @default set by the template
   */
  idleMs?: number;
  /** Container ports. Only with `image`; otherwise the template lists them. */
  ports?: number[];
  /** Volumes to add. With a pool or template, the sandbox starts cold, and its template must allow it. */
  volumes?: VolumeOptions[];
  /** Command of the container. Only with `image`. @default the image's own */
  command?: string[];
  /**
   * Keeps a sandbox that does not become Ready, so that you can look for the cause. It is deleted after `timeoutMs`.
   *
   * @default false
   */
  keepFailed?: boolean;
}

/** CPU and memory of a sandbox. */
export interface ResourceOptions {
  /** Cores (`2`, `0.5`) or thousandths of a core (`500m`). */
  cpu?: string | undefined;
  /** Bytes (`134217728`), or a number with `Ki`, `Mi`, `Gi`, `Ti`, `k`, `M`, `G` or `T`. */
  memory?: string | undefined;
}

/** Which sandboxes to list. */
export interface ListOptions {
  /** Namespace to list; `"*"` lists all namespaces. @default the client's */
  namespace?: string;
  /** A label selector, such as `team=a,tier!=test`. */
  labelSelector?: string;
  signal?: AbortSignal;
}

/** A sandbox as it appears in a list. */
export interface SandboxInfo {
  /** The name that calls of the SDK accept: of the claim, or of the Sandbox if there is no claim. */
  name: string;
  namespace: string;
  kind: "SandboxClaim" | "Sandbox";
  /** Name of the Sandbox. Undefined while a claim has no Sandbox. */
  sandboxName: string | undefined;
  state: "Ready" | "Starting" | "Suspended" | "Failed" | "Terminating";
  /** Reason of the Ready condition; empty while there is no condition. */
  reason: string;
  message: string;
  /** Name of the claim's pool. Undefined for a Sandbox without a claim. */
  pool: string | undefined;
  /** IP addresses of its Pod. Empty while there is no Pod. */
  podIPs: string[];
  createdAt: Date;
  /** When it will be deleted. Undefined: it has no time limit. */
  expiresAt: Date | undefined;
  labels: Record<string, string>;
  /** Annotations of the object. */
  metadata: Record<string, string>;
}

/** Environment variables. Both names are accepted, because SDKs use either. */
export interface EnvOptions {
  /** Environment variables by name. */
  env?: Record<string, string> | undefined;
  /** Another name for `env`. Set only one of them. */
  envs?: Record<string, string> | undefined;
}

/**
 * Returns the variables, by whichever name they were set.
 *
 * @throws {@link InvalidArgumentError} if both names are used
 */
export function envOf({ env, envs }: EnvOptions): Record<string, string> {
  if (env && envs) {
    throw new InvalidArgumentError("Cannot set variables: `env` and `envs` are the same, and both are given");
  }
  return env ?? envs ?? {};
}

/** One page of a list, and the cursor of the next one. */
export interface SandboxPage {
  items: SandboxInfo[];
  /** Cursor of the next page; absent on the last page. */
  cursor?: string;
}
