/** Recognises requests of E2B's clients, and gives refusals the form that these clients read. Pure. @module */
import type { IncomingMessage } from "node:http";
import { ENVD_PORT, REASON_HEADER, SANDBOX_NOT_FOUND } from "../../api/router/protocol.ts";
import { hostOf, isHostAmbiguous } from "../destination.ts";
import type { Refusal } from "../refusal.ts";

/** A request for a port of an E2B client's sandbox. */
export interface E2BRequest {
  /** As the client wrote it; may be anything. */
  id: string;
  port: number;
  via: "host" | "headers";
}

const LABEL = /^([0-9]{1,5})-([0-9a-z]+)$/;
const recognised = new WeakMap<IncomingMessage, E2BRequest>();

/**
 * Reads which sandbox an E2B client means.
 *
 * | host | sandbox and port are in |
 * |---|---|
 * | `<port>-<ID>.<domain>` | the host |
 * | another host of the domain that names a sandbox | not a request of E2B's |
 * | any other | the headers E2b-Sandbox-Id and E2b-Sandbox-Port |
 *
 * The host wins, so that a page of one sandbox cannot reach another by headers.
 *
 * @param domain undefined: no host names a sandbox
 * @returns undefined: the request is not of E2B's
 */
export function e2bRequestOf(request: IncomingMessage, domain: string | undefined): E2BRequest | undefined {
  const named = namedBy(request, domain);
  if (named) recognised.set(request, named);
  return named;
}

function namedBy(request: IncomingMessage, domain: string | undefined): E2BRequest | undefined {
  // The other ways refuse it.
  if (isHostAmbiguous(request)) return undefined;
  const { headers } = request;
  const name = hostOf(request).toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  if (domain !== undefined && name.endsWith(`.${domain}`)) {
    const label = name.slice(0, -domain.length - 1);
    const [, port, id] = LABEL.exec(label) ?? [];
    if (port !== undefined && id !== undefined) return { id, port: Number(port), via: "host" };
    if (/^[0-9]+-/.test(label)) return undefined;
  }
  const { "e2b-sandbox-id": id, "e2b-sandbox-port": port = String(ENVD_PORT) } = headers;
  // The router's own header names a sandbox in another way.
  if (typeof id !== "string" || headers["x-sandbox-id"] !== undefined) return undefined;
  return { id, port: /^[0-9]{1,5}$/.test(String(port)) ? Number(port) : NaN, via: "headers" };
}

/** The sentence by which SDKs know that a sandbox has ended. Source: E2B's proxy, asserted by its SDKs. */
const NOT_FOUND = "The sandbox was not found";
/** The sentence by which SDKs know that a program does not listen. */
const PORT_CLOSED = "The sandbox is running but port is not open";

/** Refuses a request for a sandbox that does not exist, or has ended. */
export const NO_SANDBOX: Refusal = {
  status: 404,
  detail: NOT_FOUND,
  headers: { [REASON_HEADER]: SANDBOX_NOT_FOUND },
};

/**
 * Returns a refusal as E2B's clients read it; undefined: the request is not of E2B's.
 *
 * | refusal | status |
 * |---|---|
 * | the sandbox does not exist, has expired, or is suspended and is not woken | 502, "was not found" |
 * | nothing listens on the port | 502, "port is not open" |
 * | 503, 504, and 502 in the middle of a request: clients would take them for an ended sandbox | 500 |
 * | any other | as it is |
 */
export function e2bAnswer(request: IncomingMessage, refusal: Refusal): { status: number; body: object } | undefined {
  const named = recognised.get(request);
  if (!named) return undefined;
  const { id: sandboxId, port } = named;
  const { status, detail, remedy, state, headers = {} } = refusal;
  if (state === "port closed") return { status: 502, body: { sandboxId, message: PORT_CLOSED, port, code: 502 } };
  const reason = headers[REASON_HEADER];
  const isGone = state === "suspended" || reason === SANDBOX_NOT_FOUND || (status === 502 && reason !== undefined);
  if (isGone) return { status: 502, body: { sandboxId, message: NOT_FOUND, code: 502 } };
  const code = status > 500 ? 500 : status;
  return { status: code, body: { sandboxId, message: remedy === undefined ? detail : `${detail} ${remedy}`, code } };
}

/** Tells whether a browser asks, before it sends a request of E2B's SDK, which headers a page may send. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  if (method !== "OPTIONS" || headers["access-control-request-method"] === undefined) return false;
  return /(^|[\s,])e2b-sandbox-id\s*(,|$)/i.test(String(headers["access-control-request-headers"] ?? ""));
}

/**
 * Headers of answers that pages of all origins may read, because only a token in a header admits to commands and files:
 * no browser adds that by itself.
 */
export const OPEN_TO_PAGES = { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "*" };

/** Headers of the answer to {@link isPreflight}. */
export const PREFLIGHT_ANSWER = {
  ...OPEN_TO_PAGES,
  "Access-Control-Allow-Methods": "GET, POST",
  "Access-Control-Allow-Headers": "*, Authorization",
  "Access-Control-Max-Age": "7200",
};
