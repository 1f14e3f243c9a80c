/** Which headers pass the router, in both directions. Lists are flat: name, value, name, value. Pure. @module */
import { POD_UID_HEADER, REASON_HEADER } from "../../api/router/headers.ts";
import { STORED_BY_BROWSERS } from "./storedheaders.ts";

/** What the router says of a request to the sandbox. */
export interface Forwarding {
  /** What the sandbox is told that it is. */
  host: string;
  /** Address of the client. */
  client: string;
  /** What the client asked for by Host or :authority; empty if it named none. */
  clientHost: string;
  proto: "http" | "https";
  /** UID of the Pod that is meant; undefined: not known. */
  podUID: string | undefined;
}

/** Concern one connection only. Source: RFC 9110 section 7.6.1 and its predecessors. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
];
/** Besides: the router answers Expect itself, writes Host and the X-Forwarded ones, and keeps credentials to itself. */
const NOT_TO_SANDBOX = new Set([
  ...HOP_BY_HOP,
  "expect",
  "host",
  "authorization",
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-prefix",
  POD_UID_HEADER.toLowerCase(),
]);
/** Besides: what only the router says, and what a browser would keep for the whole origin. */
const NOT_TO_CLIENT = new Set([...HOP_BY_HOP, REASON_HEADER.toLowerCase(), ...STORED_BY_BROWSERS]);
const PLAIN_CONNECTION = new Set(["", "keep-alive", "close", "upgrade", "keep-alive, upgrade"]);

/**
 * Returns the headers for the sandbox.
 *
 * @param connection value of the Connection header: what it lists concerns this connection only
 * @param also names that do not pass either, in lower case
 */
export function headersForSandbox(
  raw: readonly string[],
  connection: string | undefined,
  forwarding: Forwarding,
  also: ReadonlySet<string>,
): string[] {
  const listed = listedIn(connection);
  const result = ["Host", forwarding.host];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    if (NOT_TO_SANDBOX.has(name) || listed.has(name) || also.has(name) || name.startsWith(":")) continue;
    result.push(raw[i] as string, raw[i + 1] as string);
  }
  result.push("X-Forwarded-For", forwarding.client, "X-Forwarded-Proto", forwarding.proto);
  if (forwarding.podUID !== undefined) result.push(POD_UID_HEADER, forwarding.podUID);
  if (forwarding.clientHost !== "") result.push("X-Forwarded-Host", forwarding.clientHost);
  return result;
}

/**
 * Returns the headers for the client, or what it gets behind a body; `connection` as for {@link headersForSandbox}.
 *
 * @param cookieName a cookie that is none of the sandbox's business; undefined: there is none
 */
export function headersForClient(
  raw: readonly string[],
  connection: string | undefined,
  cookieName: string | undefined,
): string[] {
  const listed = listedIn(connection);
  const result: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    if (NOT_TO_CLIENT.has(name) || listed.has(name)) continue;
    const value = raw[i + 1] as string;
    if (name === "set-cookie" && cookieName !== undefined && nameOfCookie(value) === cookieName) continue;
    result.push(raw[i] as string, value);
  }
  return result;
}

/**
 * Returns the name under which a browser will send a cookie: without blanks around it, and where it has none, what its
 * value looks like. Source: RFC 6265 section 5.2, and 6265bis.
 */
function nameOfCookie(setCookie: string): string | undefined {
  return setCookie.replace(/^[\s=]+/, "").split(/[;=]/, 1)[0]?.trim();
}

const NONE: ReadonlySet<string> = new Set();
/** What frames a message is no hop's business to take away: without it the next message would begin elsewhere. */
const FRAMING = new Set(["content-length", "host"]);

function listedIn(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined || PLAIN_CONNECTION.has(connection.toLowerCase())) return NONE;
  const names = connection.toLowerCase().split(",").map((name) => name.trim());
  return new Set(names.filter((name) => !FRAMING.has(name)));
}

/** What the sandbox is told by Host: its Pod's address, `localhost`, or what the client asked for; each with a port. */
export type UpstreamHost = "pod" | "localhost" | "client";

/**
 * Returns the Host header for the sandbox.
 *
 * @param clientHost what the client asked for; empty: it named none, and the sandbox is told its Pod's address
 */
export function hostForSandbox(choice: UpstreamHost, address: string, port: number, clientHost: string): string {
  if (choice === "client" && clientHost !== "") return clientHost;
  if (choice === "localhost") return `localhost:${port}`;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
