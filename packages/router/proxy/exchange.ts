/** A request that the proxy forwards to a sandbox, and the settings of the proxy. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import { hostOf, type Target } from "../destination.ts";
import type { Refusal } from "../refusal.ts";
import type { AnswerRules } from "./answerheaders.ts";
import type { Dialler } from "./dial.ts";
import type { FailureReason } from "./failure.ts";
import { headersForSandbox, hostForSandbox, type UpstreamHost } from "./headers.ts";
import { rawHeadersOf } from "./versions.ts";

/** Largest size of the headers of a request or response, in bytes. Node's default is 16 KiB. */
export const MAX_HEADER_BYTES = 64 * 1024;

/** Settings of the proxy. Times in milliseconds. */
export interface ProxySettings {
  dialler: Dialler;
  /** How long a sandbox may take to send the headers of its response, after the request has been sent. */
  responseHeaderTimeout: number;
  /** How long a body may pause, in both directions. There is no limit for event streams. */
  proxyTimeout: number;
  /** How often the proxy tries again if it cannot connect. */
  upstreamMaxRetries: number;
  upstreamRetryInitialDelay: number;
  upstreamRetryMaxDelay: number;
  /** Largest request body. 0: no limit. */
  maxRequestBodyBytes: number;
  /** Which Host header sandboxes get. */
  upstreamHost: UpstreamHost;
  /** Returns the UID of the sandbox's Pod with this IP address; undefined: the sandbox has no Pod there any more. */
  podUIDAt(target: Target, address: string): string | undefined;
  /** Lists the sandbox's Pods from the API server. Called if another Pod answered at the address. Never throws. */
  refreshPods(target: Target): Promise<void>;
  onRetry(target: Target): void;
  onUpstreamError(target: Target, reason: FailureReason): void;
}

/** A request that the proxy forwards to a sandbox, and its response. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  target: Target;
  /** Address of the client. */
  address: string;
  /** Path and query for the sandbox. */
  path: string;
  proto: "http" | "https";
  /** Names of the client's headers that are not forwarded, in lower case. */
  withheld: ReadonlySet<string>;
  /** Headers that the sandbox gets in addition to the client's: names and values in turn. */
  added: readonly string[];
  /** How the proxy changes the headers of the response. */
  rules: AnswerRules;
  /** Headers that the proxy adds to the sandbox's response: names and values in turn. */
  addedToResponse: string[];
  /** The client waits for "100 Continue" before it sends its body. */
  expectsContinue: boolean;
  /** Looks up the address again before a retry. The signal is aborted when the client disconnects. */
  locate(signal: AbortSignal): Promise<string | Refusal>;
  /** Returns whether the sandbox was resumed a moment ago, so that its app may not listen yet. */
  mayNotListenYet(): boolean;
}

/** What the request headers depend on. `podIP`: address of the sandbox. */
type RequestHeaderInput = Pick<Exchange, "request" | "target" | "address" | "proto" | "withheld" | "added"> & {
  settings: ProxySettings;
  podIP: string;
};

/** Returns the request headers for the sandbox, without those for the length of the body: names and values in turn. */
export function requestHeaders(
  { request, target, address, proto, withheld, added, settings, podIP }: RequestHeaderInput,
): string[] {
  const clientHost = hostOf(request);
  const forwarding = {
    host: hostForSandbox(settings.upstreamHost, podIP, target.port, clientHost),
    client: address,
    clientHost,
    proto,
    podUID: settings.podUIDAt(target, podIP),
  };
  const headers = headersForSandbox(rawHeadersOf(request), request.headers.connection, forwarding, withheld);
  headers.push(...added);
  return headers;
}

/** Returns a refusal if the headers show that the proxy cannot forward the body; undefined: they do not. */
export function bodyProblem({ headers }: IncomingMessage, maxRequestBodyBytes: number): Refusal | undefined {
  const transferEncoding = headers["transfer-encoding"];
  if (transferEncoding !== undefined && transferEncoding.toLowerCase() !== "chunked") {
    return { status: 501, detail: "Transfer codings other than chunked are not supported." };
  }
  const tooLong = maxRequestBodyBytes > 0 && Number(headers["content-length"] ?? 0) > maxRequestBodyBytes;
  return tooLong ? tooLarge(maxRequestBodyBytes) : undefined;
}

/** Refuses a body of more than `maxRequestBodyBytes` bytes. */
export function tooLarge(maxRequestBodyBytes: number): Refusal {
  return { status: 413, detail: `The request body is longer than ${maxRequestBodyBytes} bytes.` };
}
