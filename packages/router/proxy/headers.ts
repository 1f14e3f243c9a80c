/** Filters the headers of requests and answers. Header lists are flat: name, value, name, value. Pure. @module */
import { POD_UID_HEADER, REASON_HEADER } from "../../api/router/protocol.ts";

/** What the router tells the sandbox about a request. */
interface Forwarding {
  /** The Host header for the sandbox. */
  host: string;
  /** Address of the client. */
  client: string;
  /** The host that the client asked for, from Host or :authority; empty if there is none. */
  clientHost: string;
  proto: "http" | "https";
  /** UID of the Pod that must answer; undefined: not known. */
  podUID: string | undefined;
}

/** Headers that concern only one connection. Source: RFC 9110 section 7.6.1 and its predecessors. */
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
/** The router also answers Expect itself, sets Host and X-Forwarded headers, and removes credentials. */
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

/**
 * Names in lower case. Browsers apply these headers to later requests of the origin, even if another sandbox answers.
 * Pages of several sandboxes, the dashboard and the router's own redirects can share an origin, and addresses may
 * contain tokens.
 *
 * Headers that only concern the page they come with (Content-Security-Policy, Permissions-Policy, Document-Policy)
 * pass. Decision 0042 has the list with its reasons.
 */
export const STORED_BY_BROWSERS: readonly string[] = [
  // They send addresses of later requests, queries included, to a collector.
  "nel",
  "report-to",
  "reporting-endpoints",
  "expect-ct",
  "public-key-pins",
  "public-key-pins-report-only",
  // They let a script or a host answer for paths that are not its own.
  "service-worker-allowed",
  "alt-svc",
  // They delete or change what others of the origin, or of the whole domain, rely on.
  "clear-site-data",
  "strict-transport-security",
  "origin-agent-cluster",
  "origin-trial",
  // They are sent with, or change, later requests to the origin.
  "accept-ch",
  "accept-ch-lifetime",
  "critical-ch",
  "use-as-dictionary",
  "set-login",
  "secure-session-registration",
  "sec-session-registration",
  "secure-session-challenge",
  "sec-session-challenge",
  "attribution-reporting-register-source",
  "attribution-reporting-register-trigger",
  "attribution-reporting-register-os-source",
  "attribution-reporting-register-os-trigger",
  "shared-storage-write",
  "observe-browsing-topics",
  "ad-auction-signals",
  "ad-auction-additional-bid",
  "activate-storage-access",
];

/** Also not passed: headers that only the router may set, and those that a browser stores for the whole origin. */
const NOT_TO_CLIENT = new Set([...HOP_BY_HOP, REASON_HEADER.toLowerCase(), ...STORED_BY_BROWSERS]);
const PLAIN_CONNECTION = new Set(["", "keep-alive", "close", "upgrade", "keep-alive, upgrade"]);

/**
 * Returns the headers for the sandbox.
 *
 * @param connection value of the Connection header: the headers that it lists concern only this connection
 * @param also further names that do not pass, in lower case
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
 * Returns the headers or trailers for the client; `connection` as for {@link headersForSandbox}.
 *
 * @param cookieName a cookie that the sandbox must not set; undefined: there is none
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
 * Returns the name under which a browser sends a cookie back, without spaces around it. For a cookie without a name, it
 * is what the value looks like to a server. Source: RFC 6265 section 5.2, and 6265bis.
 */
function nameOfCookie(setCookie: string): string | undefined {
  return setCookie.replace(/^[\s=]+/, "").split(/[;=]/, 1)[0]?.trim();
}

const NONE: ReadonlySet<string> = new Set();
/** Connection must not remove headers that frame a message: otherwise the next message would begin at another byte. */
const FRAMING = new Set(["content-length", "host"]);

function listedIn(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined || PLAIN_CONNECTION.has(connection.toLowerCase())) return NONE;
  const names = connection.toLowerCase().split(",").map((name) => name.trim());
  return new Set(names.filter((name) => !FRAMING.has(name)));
}

/** Which Host header the sandbox gets: its Pod's address, `localhost`, or the client's; each with a port. */
export type UpstreamHost = "pod" | "localhost" | "client";

/**
 * Returns the Host header for the sandbox.
 *
 * @param clientHost the host that the client asked for; if it is empty, the sandbox gets its Pod's address
 */
export function hostForSandbox(choice: UpstreamHost, address: string, port: number, clientHost: string): string {
  if (choice === "client" && clientHost !== "") return clientHost;
  if (choice === "localhost") return `localhost:${port}`;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
