/** A request on its way to a sandbox, and the settings of the proxy that forwards it. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import { hostOf, type Target } from "../destination.ts";
import type { Refusal } from "../refusal.ts";
import type { AnswerRules } from "./answerheaders.ts";
import type { Dialler } from "./dial.ts";
import type { FailureReason } from "./failure.ts";
import { headersForSandbox, hostForSandbox, type UpstreamHost } from "./headers.ts";
import { rawHeadersOf } from "./versions.ts";

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
  refreshPods(target: Target): Promise<void>;
  onRetry(target: Target): void;
  onUpstreamError(target: Target, reason: FailureReason): void;
}

/** A request on its way to a sandbox. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  target: Target;
  /** Address of the client. */
  address: string;
  /** Path and query for the sandbox. */
  path: string;
  proto: "http" | "https";
  /** Names of client headers that the sandbox does not get, in lower case. */
  withheld: ReadonlySet<string>;
  /** Headers that the sandbox gets in addition to the client's: names and values in turn. */
  added: readonly string[];
  /** How the headers of the answer are changed. */
  rules: AnswerRules;
  /** Headers added to the sandbox's answer: names and values in turn. */
  extra: string[];
  /** The client waits for "100 Continue" before it sends its body. */
  expectsContinue: boolean;
  /** Looks up the address again before another try; `signal` fires when the client disconnects. */
  locate(signal: AbortSignal): Promise<string | Refusal>;
  /** True if the sandbox has just woken, so that its app may not listen yet. */
  mayYetListen(): boolean;
}

/** The parts of an exchange that its request headers depend on. `podIP`: address of the sandbox. */
type Addressed = Pick<Exchange, "request" | "target" | "address" | "proto" | "withheld" | "added"> & {
  settings: ProxySettings;
  podIP: string;
};

/** Returns the request headers for the sandbox as a flat list, without those that frame the body. */
export function requestHeaders(
  { request, target, address, proto, withheld, added, settings, podIP }: Addressed,
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

/** Returns a refusal if the head shows that the body is not acceptable; undefined: it may be. */
export function bodyProblem({ headers }: IncomingMessage, maxRequestBodyBytes: number): Refusal | undefined {
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    return { status: 501, detail: "Transfer codings other than chunked are not supported." };
  }
  const tooLong = maxRequestBodyBytes > 0 && Number(headers["content-length"] ?? 0) > maxRequestBodyBytes;
  return tooLong ? tooLarge(maxRequestBodyBytes) : undefined;
}

/** Refuses a body of more than `maxRequestBodyBytes` bytes. */
export function tooLarge(maxRequestBodyBytes: number): Refusal {
  return { status: 413, detail: `The request body is longer than ${maxRequestBodyBytes} bytes.` };
}
