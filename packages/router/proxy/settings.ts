/** Settings of the proxy: limits, timeouts, and callbacks for events. @module */
import type { Target } from "../destination.ts";
import type { Dialler } from "./dial.ts";
import type { FailureReason } from "./failure.ts";
import type { UpstreamHost } from "./headers.ts";

/** The longest head of a message, in bytes, from clients and from sandboxes. Node's own limit is 16 KiB. */
export const MOST_HEADER_BYTES = 64 * 1024;

/** Settings of the proxy. Times in milliseconds. */
export interface ProxySettings {
  dialler: Dialler;
  /** Longest wait for the head of an answer after the request has been sent. */
  responseHeaderTimeout: number;
  /** Longest silence in a body, in both directions; event streams may be silent forever. */
  proxyTimeout: number;
  /** Tries after the first one, if there was no connection. */
  upstreamMaxRetries: number;
  upstreamRetryInitialDelay: number;
  upstreamRetryMaxDelay: number;
  /** 0: no limit. */
  maxRequestBodyBytes: number;
  /** Which Host header sandboxes get. */
  upstreamHost: UpstreamHost;
  /** Returns the UID of the sandbox's Pod at an address; undefined: it has no Pod there any more. */
  podUIDAt(target: Target, address: string): string | undefined;
  /** Lists the sandbox's Pods at the API server, after another Pod answered at the address. Never throws. */
  lookAgain(target: Target): Promise<void>;
  onRetry(target: Target): void;
  onUpstreamError(target: Target, reason: FailureReason): void;
}
