/** How the proxy behaves: limits, and who hears of what happens. @module */
import type { Target } from "../destination.ts";
import type { Dialler } from "./dial.ts";
import type { FailureReason } from "./failure.ts";
import type { UpstreamHost } from "./headers.ts";

/** The longest head of a message, in bytes, of clients and of sandboxes alike. Node's own limit is 16 KiB. */
export const MOST_HEADER_BYTES = 64 * 1024;

/** How patient the proxy is. Times in milliseconds. */
export interface ProxySettings {
  dialler: Dialler;
  /** Longest wait for the head of an answer once the request is sent. */
  responseHeaderTimeout: number;
  /** Longest silence in a body, both ways; event streams may be silent for ever. */
  proxyTimeout: number;
  /** Tries after the first, where no connection came about. */
  upstreamMaxRetries: number;
  upstreamRetryInitialDelay: number;
  upstreamRetryMaxDelay: number;
  /** 0: any size. */
  maxRequestBodyBytes: number;
  /** What sandboxes are told by Host. */
  upstreamHost: UpstreamHost;
  /** Returns the UID of the sandbox's Pod at an address; undefined: it has none there by now. */
  podUIDAt(target: Target, address: string): string | undefined;
  /** Another Pod has the address: asks the API server where the sandbox's Pods are. Never throws. */
  lookAgain(target: Target): Promise<void>;
  onRetry(target: Target): void;
  onUpstreamError(target: Target, reason: FailureReason): void;
}
