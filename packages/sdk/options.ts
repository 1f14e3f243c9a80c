/** What callers of the SDK may ask for. No behaviour. @module */
import type { EnvOptions } from "./env.ts";

/** A volume of its own for a sandbox: it lasts as long as the sandbox does, through suspension too. */
export interface VolumeOptions {
  name: string;
  /** A quantity of Kubernetes, such as `1Gi`. */
  size: string;
  /** Where it is mounted. With `image` only: elsewhere the template says so, by the volume's name. */
  path?: string;
  /** @default the cluster's own */
  storageClass?: string;
}

/** How far a sandbox is, while one waits for it. */
export interface Progress {
  /** Reason of the Ready condition; empty until there is one. */
  reason: string;
  /** What it waits for, for people; may be empty. */
  message: string;
  /** Milliseconds since the call. */
  elapsedMs: number;
}

/** How long to wait for a sandbox, and who may give up. */
export interface WaitOptions {
  /** Longest wait until the sandbox is Ready. @default 180000 */
  readyTimeoutMs?: number;
  /** Gives up; what was created for the call is deleted again. */
  signal?: AbortSignal;
  /** Told of every change of state while one waits. */
  onProgress?: (progress: Progress) => void;
}

/** What to make. Exactly one of `pool`, `template` and `image`. */
export interface CreateOptions extends WaitOptions, EnvOptions {
  /** A SandboxWarmPool: the sandbox is there at once where the pool has one left. */
  pool?: string;
  /** A SandboxTemplate: a pool of it is used if there is one; else the sandbox starts cold, from an empty pool made for it. */
  template?: string;
  /** A container image: a Sandbox of its own, of no template. */
  image?: string;
  /** @default `sandbox-` and eight characters at random */
  name?: string;
  /** @default the client's */
  namespace?: string;
  /** Environment of the sandbox's commands. With a pool or template it means a cold start, and its template must allow it. */
  env?: Record<string, string> | undefined;
  /** Labels of the object that is made, for `list` and `kubectl get -l`. */
  labels?: Record<string, string>;
  /** Its annotations: whatever you want to remember. */
  metadata?: Record<string, string>;
  /** Labels of the Pod, beside its template's. */
  podLabels?: Record<string, string>;
  /** Annotations of the Pod, beside its template's. */
  podAnnotations?: Record<string, string>;
  /** How long it lives, in milliseconds from now; then it is deleted with all it has. @default for ever */
  timeoutMs?: number;
  /** How long nobody may use it, in milliseconds, before the router suspends it. @default what its template says */
  idleMs?: number;
  /** Ports that it serves, with `image` only: elsewhere the template says so. */
  ports?: number[];
  /** With a pool or template they mean a cold start, and its template must allow them. */
  volumes?: VolumeOptions[];
  /** What runs in it, with `image` only. @default the image's own */
  command?: string[];
  /** Leaves what does not become Ready where it is, to be looked into. @default false */
  keepFailed?: boolean;
}

/** Which sandboxes to list. */
export interface ListOptions {
  /** `"*"` for all namespaces. @default the client's */
  namespace?: string;
  /** A label selector of Kubernetes, such as `team=a,tier!=test`. */
  labelSelector?: string;
  signal?: AbortSignal;
}

/** A sandbox, as a list shows it. */
export interface SandboxInfo {
  /** The name that the SDK's calls take: the claim's, or that of a Sandbox of its own. */
  name: string;
  namespace: string;
  kind: "SandboxClaim" | "Sandbox";
  /** Name of the Sandbox; undefined while a claim has none. */
  sandboxName: string | undefined;
  state: "Ready" | "Starting" | "Suspended" | "Failed" | "Terminating";
  /** Reason of the Ready condition; empty until there is one. */
  reason: string;
  message: string;
  /** The claim's pool. */
  pool: string | undefined;
  /** Addresses of its Pod; empty while it has none. */
  podIPs: string[];
  createdAt: Date;
  /** When it will be deleted; undefined: never by itself. */
  expiresAt: Date | undefined;
  labels: Record<string, string>;
  /** Its annotations. */
  metadata: Record<string, string>;
}
