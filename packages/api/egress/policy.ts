/**
 * Decides which hosts a sandbox reaches, and which headers its requests get: reads the annotations of templates and
 * claims, and applies them to one request. Pure. @module
 */
import ipaddr from "ipaddr.js";
import {
  EGRESS_ALLOW_ANNOTATION,
  EGRESS_CLAIM_HEADERS_ANNOTATION,
  EGRESS_HEADERS_ANNOTATION,
} from "../objects/keys.ts";

/** One entry of a list of allowed destinations: host names, or a network. */
export type Entry = Hosts | Network;

interface Hosts {
  /** `example.com`, `*.example.com` for all names below it, or `*`. In lower case. */
  hosts: string;
  /** Absent: 80 and 443. */
  port?: number | undefined;
}

interface Network {
  network: [ipaddr.IPv4 | ipaddr.IPv6, number];
  port?: number | undefined;
}

/** A header that requests to a host get, if they are encrypted. Without a port, the port is 443. */
export interface HeaderRule extends Hosts {
  header: string;
  /** What precedes the value of the Secret, such as `Bearer`; absent: nothing. */
  scheme?: string | undefined;
  secret: string;
  key: string;
  /** The claim has the rule, so its author must have been checked. */
  ofClaim?: true;
}

/** What one sandbox may reach. */
export interface Policy {
  /** From the template. */
  allow: Entry[];
  /** From the claim, which can only narrow the list of the template; absent: all that the template allows. */
  narrowed?: Entry[] | undefined;
  headers: HeaderRule[];
  /** From the claim: for hosts that are allowed without them; absent: none. */
  claimHeaders?: HeaderRule[] | undefined;
}

/** Where a request goes. */
export interface Destination {
  /** Name or address, as the client wrote it. */
  host: string;
  port: number;
}

/** A decision about a destination; a string is the reason for people why it is refused. */
export type Verdict = Allowed | string;

interface Allowed {
  /** The destination's name or address, in lower case and without a final dot. */
  host: string;
  /** Headers for requests over TLS. If there are any, the proxy reads the requests. */
  headers: HeaderRule[];
  /** Any protocol is allowed, because an entry names the port. Otherwise, only TLS (443) and HTTP (80). */
  isRaw: boolean;
}

/** Ports of entries that name none. */
const WEB_PORTS = [80, 443];
const LABEL = "[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?";
const NAME = new RegExp(`^(?=.{1,253}$)${LABEL}(\\.${LABEL})*$`);
/** Texts such as `127.1` or `0x7f000001` are addresses for some resolvers, and names for others. */
const NUMERIC = /(^|\.)(0x[0-9a-f]*|[0-9]+)$/;
const HEADER = /^(\S+) ([-A-Za-z0-9]+)=(?:([A-Za-z]+) )?([a-z0-9][-a-z0-9.]*)\/([-._a-zA-Z0-9]+)$/;
/** Azure's server for the machine itself, and IPv6 addresses that contain IPv4 ones. */
const NOT_PUBLIC: Network[] = [
  { network: [ipaddr.IPv4.parse("168.63.129.16"), 32] },
  { network: [ipaddr.IPv6.parse("::"), 96] },
];
/** Headers that say how a message is sent, and whose they are. */
const RESERVED_HEADERS =
  /^(connection|content-length|content-encoding|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|sec-websocket-.*)$/i;

/**
 * Reads a list of destinations.
 *
 * @param text for example `pypi.org, *.example.com, db.example.com:5432, 10.1.0.0/16`
 * @returns a text for people if an entry is invalid
 */
export function readAllowed(text: string): Entry[] | string {
  const entries: Entry[] = [];
  for (const word of wordsOf(text)) {
    const entry = readEntry(word);
    if (entry === undefined) {
      return `"${word}" is not a host name, *.DOMAIN, an address, or a network such as 10.1.0.0/16, with or without :PORT`;
    }
    entries.push(entry);
  }
  return entries;
}

/**
 * Reads a list of headers.
 *
 * @param text for example `api.example.com Authorization=Bearer example/key, other.example x-api-key=other/key`
 * @returns a text for people if an entry is invalid
 */
export function readHeaders(text: string): HeaderRule[] | string {
  const rules: HeaderRule[] = [];
  for (const word of wordsOf(text)) {
    const [, place = "", header, scheme, secret, key] = HEADER.exec(word) ?? [];
    const entry = readEntry(place);
    if (entry === undefined || header === undefined || secret === undefined || key === undefined) {
      return `"${word}" is not HOST HEADER=SECRET/KEY or HOST HEADER=SCHEME SECRET/KEY`;
    }
    if (entry.port === 80) return `"${word}" names the port of HTTP, which is not encrypted`;
    if (!("hosts" in entry) || entry.hosts === "*") return `"${word}" does not name a host or *.DOMAIN`;
    if (RESERVED_HEADERS.test(header)) return `"${word}" names a header that a proxy must not set`;
    rules.push({ ...entry, header, scheme, secret, key });
  }
  return rules;
}

/** The same pattern as in deploy/binder/claimheaders.yaml: a claim that this reads differently would be checked wrongly. */
const CLAIM_HEADER =
  /^ *[-_*.:a-zA-Z0-9]+ [-A-Za-z0-9]+=([A-Za-z]+ )?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[-._a-zA-Z0-9]+ *$/;
/** More would exceed what an admission policy may ask. */
const MOST_CLAIM_HEADERS = 8;

/** Reads the headers of a claim, as {@link readHeaders}, but only what the admission policy has checked. */
export function readClaimHeaders(text: string): HeaderRule[] | string {
  const entries = text.split(",");
  if (entries.length > MOST_CLAIM_HEADERS) return `it has ${entries.length} entries; ${MOST_CLAIM_HEADERS} are allowed`;
  const wrong = entries.find((entry) => !CLAIM_HEADER.test(entry));
  if (wrong !== undefined) return `"${wrong}" is not HOST HEADER=SECRET/KEY or HOST HEADER=SCHEME SECRET/KEY`;
  const rules = readHeaders(text);
  return typeof rules === "string" ? rules : rules.map((rule) => ({ ...rule, ofClaim: true }));
}

/** The annotations of an object, and its kind and name for people. */
export interface Source {
  owner: string;
  allow: string | undefined;
  headers: string | undefined;
  /** Of a template: `Allowed` if claims may have headers. */
  claimHeaders?: string | undefined;
}

/** Reads the annotations of a template, and of a claim if there is one. @returns a text for people if one is invalid */
export function policyFrom(source: Source, claim?: Source): Policy | string {
  if (source.allow === undefined && source.headers === undefined) {
    return `${source.owner} has neither annotation ${EGRESS_ALLOW_ANNOTATION} nor ${EGRESS_HEADERS_ANNOTATION}`;
  }
  const allow = readAllowed(source.allow ?? "");
  if (typeof allow === "string") return `annotation ${EGRESS_ALLOW_ANNOTATION} of ${source.owner}: ${allow}`;
  const headers = readHeaders(source.headers ?? "");
  if (typeof headers === "string") return `annotation ${EGRESS_HEADERS_ANNOTATION} of ${source.owner}: ${headers}`;
  const claimHeaders = claim && claimHeadersOf(source, claim);
  if (typeof claimHeaders === "string") return claimHeaders;
  const policy = { allow, headers, ...claimHeaders && { claimHeaders } };
  if (claim?.allow === undefined) return policy;
  const narrowed = readAllowed(claim.allow);
  if (typeof narrowed === "string") return `annotation ${EGRESS_ALLOW_ANNOTATION} of ${claim.owner}: ${narrowed}`;
  return { ...policy, narrowed };
}

function claimHeadersOf(source: Source, { owner, headers }: Source): HeaderRule[] | string | undefined {
  if (headers === undefined) return undefined;
  if (source.claimHeaders !== "Allowed") {
    return `${owner} has annotation ${EGRESS_HEADERS_ANNOTATION}, but ${source.owner} does not allow it: its annotation ` +
      `${EGRESS_CLAIM_HEADERS_ANNOTATION} is not "Allowed"`;
  }
  const rules = readClaimHeaders(headers);
  return typeof rules === "string" ? `annotation ${EGRESS_HEADERS_ANNOTATION} of ${owner}: ${rules}` : rules;
}

/**
 * Decides about a destination by its name, before the name is resolved.
 *
 * @see {@link checkAddress} for its address
 */
export function decide(policy: Policy, { host: given, port }: Destination): Verdict {
  const host = given.toLowerCase().replace(/\.$/, "");
  const address = addressOf(host);
  if (!address && (!NAME.test(host) || NUMERIC.test(host))) return `${JSON.stringify(given)} is not a host name`;
  const covers = (entry: Entry) => coversPort(entry, port) && (address ? contains(entry, address) : named(entry, host));
  const rules = address ? [] : policy.headers.filter((rule) => named(rule, host));
  const headers = rules.filter((rule) => (rule.port ?? 443) === port);
  const found = [...policy.allow.filter(covers), ...headers];
  if (found.length === 0) return `${host}:${port} is not allowed`;
  if (policy.narrowed && !policy.narrowed.some(covers)) return `${host}:${port} is not allowed by the claim`;
  const ofClaim = address ? [] : (policy.claimHeaders ?? []).filter((rule) => named(rule, host));
  if (rules.length + ofClaim.length > 0 && port === 80) {
    return `${host} gets a header with a secret, so it is only reached over HTTPS`;
  }
  const isSame = (a: HeaderRule, b: HeaderRule) => a.header.toLowerCase() === b.header.toLowerCase();
  // A claim does not replace what its template adds.
  const added = ofClaim.filter((rule) => (rule.port ?? 443) === port && !headers.some((other) => isSame(rule, other)));
  const all = [...headers, ...added];
  return { host, headers: all, isRaw: all.length === 0 && !WEB_PORTS.includes(port) };
}

/**
 * Checks an address to which an allowed name resolves. Private addresses must be in a network of the list, because
 * the owner of a domain can let its names resolve to any address.
 *
 * @returns a text for people if the address is refused
 */
export function checkAddress(policy: Policy, { port }: Destination, text: string): string | undefined {
  const address = addressOf(text);
  if (!address) return `${JSON.stringify(text)} is not an address`;
  const isPublic = address.range() === "unicast" && !NOT_PUBLIC.some((entry) => contains(entry, address));
  const inList = (entries: Entry[]) => entries.some((entry) => coversPort(entry, port) && contains(entry, address));
  return isPublic || inList(policy.allow) ? undefined : `${text} is not a public address`;
}

/** Tells whether a policy allows at least a part of what an entry names. */
export function allowsSome({ allow, headers }: Policy, entry: Entry): boolean {
  const portsOf = ({ port }: Entry) => port === undefined ? WEB_PORTS : [port];
  const all = [...allow, ...headers.map((rule) => ({ ...rule, port: rule.port ?? 443 }))];
  return all.some((other) =>
    portsOf(other).some((port) => portsOf(entry).includes(port)) && (covers(other, entry) || covers(entry, other))
  );
}

/** Tells whether one entry has all places of another, at any port. */
function covers(wide: Entry, entry: Entry): boolean {
  if ("hosts" in entry) return named(wide, entry.hosts);
  return "network" in wide && wide.network[1] <= entry.network[1] && contains(wide, entry.network[0]);
}

function wordsOf(text: string): string[] {
  return text.split(",").map((word) => word.trim()).filter((word) => word !== "");
}

function readEntry(word: string): Entry | undefined {
  // Only an IPv6 address in brackets can have a port.
  const [, six, bits = "", other, digits] = /^(?:\[([^\]]*)\](\/\d+)?|([^:[\]]+))(?::(\d+))?$/.exec(word) ?? [];
  const place = six === undefined ? other ?? word : six + bits;
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  const network = networkOf(place);
  if (network) return { network, port };
  const hosts = place.toLowerCase();
  const name = hosts.replace(/^\*\./, "");
  return hosts === "*" || (NAME.test(name) && !NUMERIC.test(name)) ? { hosts, port } : undefined;
}

function networkOf(text: string): Network["network"] | undefined {
  const address = addressOf(text);
  if (address) return [address, address.kind() === "ipv4" ? 32 : 128];
  const [base = "", bits] = text.split("/");
  const first = addressOf(base);
  if (!first || bits === undefined || !/^\d{1,3}$/.test(bits)) return undefined;
  return Number(bits) <= (first.kind() === "ipv4" ? 32 : 128) ? [first, Number(bits)] : undefined;
}

/** Only the usual forms: `010.1.1.1` or `10.1` are other addresses for some programs. */
function addressOf(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  // An IPv4 address in an IPv6 one is the IPv4 address. A zone names an interface of the proxy.
  return ipaddr.IPv6.isValid(text) && !text.includes("%") ? ipaddr.process(text) : undefined;
}

function coversPort({ port }: Entry, wanted: number): boolean {
  return port === undefined ? WEB_PORTS.includes(wanted) : port === wanted;
}

function named(entry: Entry, host: string): boolean {
  if (!("hosts" in entry)) return false;
  return entry.hosts === "*" || entry.hosts === host ||
    (entry.hosts.startsWith("*.") && host.endsWith(entry.hosts.slice(1)));
}

function contains(entry: Entry, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return "network" in entry && entry.network[0].kind() === address.kind() &&
    address.match(entry.network as [ipaddr.IPv4, number]);
}
