/** A request on its way to a sandbox, and what all ways of forwarding it share. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import { hostOf, type Target } from "../destination.ts";
import type { Refusal } from "../refusal.ts";
import type { AnswerRules } from "./answerheaders.ts";
import { headersForSandbox, hostForSandbox } from "./headers.ts";
import type { ProxySettings } from "./settings.ts";
import { rawHeadersOf } from "./versions.ts";

/** A request on its way to a sandbox. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  target: Target;
  /** Address of the client. */
  address: string;
  /** What is asked of the sandbox: path and query. */
  path: string;
  proto: "http" | "https";
  /** Names of headers of the client that the sandbox does not get, in lower case. */
  withheld: ReadonlySet<string>;
  /** Headers that the sandbox gets in addition to the client's: names and values in turn. */
  added: readonly string[];
  /** What is done to the headers of the answer. */
  rules: AnswerRules;
  /** Headers that the answer has in addition to the sandbox's: names and values in turn. */
  extra: string[];
  /** The client waits for a sign before it sends its body. */
  expectsContinue: boolean;
  /** Finds the address again before another try; `signal` fires when the client has gone. */
  locate(signal: AbortSignal): Promise<string | Refusal>;
  /** Whether the sandbox has just woken: what does not listen yet may do so in a moment. */
  mayYetListen(): boolean;
}

/** An exchange, as far as the headers of its request depend on it. `podIP`: where the sandbox is asked. */
type Addressed = Pick<Exchange, "request" | "target" | "address" | "proto" | "withheld" | "added"> & {
  settings: ProxySettings;
  podIP: string;
};

/** Returns the headers of a request as the sandbox gets them, flat and without framing. */
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

/** Returns why a request is refused for its body, as far as its head shows; undefined: it is not. */
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
