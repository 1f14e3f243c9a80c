/**
 * Decides who may use the MCP server over HTTP: by the address, the bearer token, and the headers Host and Origin.
 * @module
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { isLoopback } from "../../process/hosts.ts";
import { readingFile } from "../options.ts";

/** Result of checking a request's credentials. */
type AccessResult =
  /** `owner` is different for each token. A session can be used only by its owner. */
  | { owner: string }
  /** Value of the header WWW-Authenticate of the response. Source: RFC 6750, section 3. */
  | { challenge: string };

/** Checks the value of an `Authorization` header. */
export type Authenticate = (authorization: string | undefined) => Promise<AccessResult>;

const BEARER = /^Bearer +([^\s]+) *$/i;
const LEAST_CHARACTERS = 16;
const REALM = 'Bearer realm="hookbox"';

/** Allows every request. Only for loopback addresses. */
export const anonymousAccess: Authenticate = () => Promise.resolve({ owner: "anonymous" });

/**
 * Creates a check against the tokens in a file, one per line, so that tokens can be rotated.
 *
 * @throws {Failure} if the file cannot be read, {RangeError} if it contains no token, or one that is easy to guess
 */
export async function tokensIn(file: string): Promise<Authenticate> {
  const first = await readingFile(file, () => readTokens(file));
  if (first.length === 0) throw new RangeError(`Cannot use the tokens in ${file}: there are none`);
  if (first.some(isWeak)) {
    throw new RangeError(`Cannot use the tokens in ${file}: one is shorter than ${LEAST_CHARACTERS} characters`);
  }
  return async (authorization) => {
    if (authorization === undefined) return { challenge: REALM };
    const given = digest(BEARER.exec(authorization)?.[1] ?? "");
    // If the file cannot be read, no token is accepted.
    const known = (await readTokens(file).catch(() => [])).filter((token) => !isWeak(token)).map(digest);
    // All tokens are compared, so that the duration does not reveal which one matches.
    const [match] = known.filter((token) => timingSafeEqual(token, given));
    if (match) return { owner: match.toString("base64url") };
    return { challenge: `${REALM}, error="invalid_token", error_description="The token is not known"` };
  };
}

async function readTokens(file: string): Promise<string[]> {
  return (await readFile(file, "utf8")).split("\n").map((line) => line.trim()).filter(Boolean);
}

function isWeak(token: string): boolean {
  return token.length < LEAST_CHARACTERS;
}

/** Digests have the same length, so comparing them reveals nothing about the tokens. */
function digest(token: string) {
  return createHash("sha256").update(token).digest();
}

/** Allowed hosts and origins. */
export interface Sources {
  /** In addition to the names of the loopback address, if the server listens there. */
  hosts: readonly string[];
  /** Origins of pages that may use the server, such as `https://agents.example`. */
  origins: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Creates the check. It returns why a request is refused, or undefined if it is allowed.
 *
 * | header | allowed |
 * |---|---|
 * | no Origin | yes: the client is not a page, or is a page of the same origin |
 * | Origin | one of `origins` |
 * | Host, on loopback or with `hosts` | a loopback name with any port (on loopback), or one of `hosts` |
 * | Host, otherwise | any: this address requires a token, which no page has |
 *
 * A page whose name was changed to resolve to 127.0.0.1 (DNS rebinding) still sends its own name as Host.
 */
export function createSourceCheck(
  { host, isLoopback }: Address,
  { hosts, origins }: Sources,
): (host: string | undefined, origin: string | undefined) => string | undefined {
  const own = isLoopback ? [...LOOPBACK, host] : [];
  const known = new Set([...own, ...hosts.map((host) => host.toLowerCase())]);
  return (host, origin) => {
    if (origin !== undefined && !origins.includes(origin)) return "Origin is not allowed";
    if (known.size === 0) return undefined;
    const whole = host?.toLowerCase() ?? "";
    return known.has(whole) || known.has(whole.replace(/:\d+$/, "")) ? undefined : "Host is not allowed";
  };
}

/** A host and a port. */
export interface Address {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Whether only programs on this machine can reach it. */
  isLoopback: boolean;
}

const WITH_HOST = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/;

/** Parses `HOST:PORT`, or a port of the loopback address. @throws {RangeError} if it is neither */
export function parseAddress(text: string): Address {
  const [, written = "127.0.0.1", digits = ""] = WITH_HOST.exec(/^\d+$/.test(text) ? `127.0.0.1:${text}` : text) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65_535) throw new RangeError(`Cannot listen on "${text}": it is not HOST:PORT`);
  // On some machines, localhost is not a loopback address.
  const host = written.toLowerCase() === "localhost" ? "127.0.0.1" : written.replace(/^\[|\]$/g, "");
  return { host, port, isLoopback: isLoopback(host) };
}

/** Formats `host:port` as in URLs. */
export function hostPort(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
