/** HTTP requests as they are sent, and changes that know their structure: drawn by fast-check, applied to a copy. @module */
import { Buffer } from "node:buffer";
import fc from "../properties.ts";
import type { Entry } from "./corpus.ts";

/** A request in parts; `fields` keep their order, and whatever twins they have. */
export interface Message {
  method: string;
  target: string;
  version: string;
  fields: [name: string, value: string][];
  body: string;
}

const HOWS = [
  ...["method", "target", "version", "drop", "twin", "swap", "value", "name", "add", "add", "body", "chunked"],
] as const;

/** One change; numbers choose, modulo what there is to choose from. */
export interface MessageChange {
  how: string;
  at: number;
  other: number;
}

/** Draws one to three changes. */
export const messageChanges: fc.Arbitrary<MessageChange[]> = fc.array(
  fc.record({ how: fc.constantFrom(...HOWS), at: fc.nat(100_000), other: fc.nat(100_000) }),
  { minLength: 1, maxLength: 3 },
);

/** Reads a file of the corpus: a request with LF for its ends of lines, `\x00` for bytes, and no LF behind its body. */
export function messageOf({ text }: Entry): Message {
  const [head = "", ...rest] = text.split("\n\n");
  const [line = "", ...lines] = head.split("\n");
  const [method = "", target = "", version = ""] = line.split(" ");
  const fields = lines.map((field): [string, string] => {
    const colon = field.indexOf(": ");
    return [field.slice(0, colon), field.slice(colon + 2)];
  });
  const body = rest.join("\n\n").replace(/\n$/, "").replaceAll("\n", "\r\n");
  return {
    method,
    target,
    version,
    fields,
    body: body.replace("{CHUNKS}", "5\r\nhello\r\n0\r\n\r\n").replace(BYTE, byteOf),
  };
}

const BYTE = /\\x([0-9a-f]{2})/g;
const byteOf = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));

/** Returns the request as it is sent, each character a byte. `Content-Length: {LENGTH}` becomes true. */
export function textOf({ method, target, version, fields, body }: Message): string {
  const lines = fields.map(([name, value]) => `${name}: ${value.replace("{LENGTH}", String(body.length))}\r\n`);
  return `${method} ${target} ${version}\r\n${lines.join("")}\r\n${body}`;
}

/** Fields in which a token is carried, beside the query. */
const CARRIERS = new Set(["authorization", "cookie", "sec-websocket-protocol"]);

/** Fills in the port, and the token where tokens belong: wherever else a change has put it, it would be no secret. */
export function filled(message: Message, port: number, token: string): Message {
  const fill = (text: string, secret: string) =>
    text.replaceAll("{PORT}", String(port)).replaceAll("{TOKEN}", secret)
      .replaceAll("{TOKEN64}", Buffer.from(secret).toString("base64url"));
  const [path = "", ...query] = message.target.split("?");
  const target = [fill(path, "token"), ...query.map((part) => fill(part, token))].join("?");
  const fields = message.fields.map(([name, value]): [string, string] => {
    return [name, fill(value, CARRIERS.has(name.toLowerCase()) ? token : "token")];
  });
  return { ...message, target, fields, body: fill(message.body, "token") };
}

/** Returns a changed copy. @param targets more of them that are worth a try */
export function changedMessage(message: Message, list: readonly MessageChange[], targets: readonly string[]): Message {
  const copy: Message = { ...message, fields: message.fields.map(([name, value]) => [name, value]) };
  for (const change of list) apply(copy, change, [...TARGETS, ...targets]);
  return copy;
}

function apply(message: Message, { how, at, other }: MessageChange, targets: readonly string[]): void {
  const { fields } = message;
  const field = pick(fields, at) ?? ["X", ""];
  const ways: Record<string, () => unknown> = {
    method: () => message.method = pick(METHODS, at),
    target: () => message.target = other % 2 ? pick(targets, at) : message.target + pick(TAILS, at),
    version: () => message.version = pick(VERSIONS, at),
    drop: () => fields.splice(at % (fields.length + 1), 1),
    twin: () => fields.push([field[0], other % 2 ? field[1] : pick(VALUES, other)]),
    swap: () => {
      const second = pick(fields, other) ?? field;
      [field[1], second[1]] = [second[1], field[1]];
    },
    value: () => field[1] = pick(VALUES, other),
    name: () => field[0] = pick(NAMES, other),
    add: () => fields.push([...pick(FIELDS, at)]),
    body: () => message.body = pick(BODIES, at),
    chunked: () => {
      fields.push(["Transfer-Encoding", "chunked"]);
      message.body = pick(CHUNKED, at).replace("{BODY}", `${message.body.length.toString(16)}\r\n${message.body}\r\n`);
      // Both framings at once are for whoever changes more than this.
      if (other % 3 > 0) message.fields = fields.filter(([name]) => name.toLowerCase() !== "content-length");
    },
  };
  ways[how]!();
}

function pick<T>(list: readonly T[], at: number): T {
  return list[at % list.length]!;
}

const METHODS = [
  ...[
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "get",
    "QUERY",
    "PRI",
    "M-SEARCH",
  ],
  ...["", " ", "GET\t", "G\0T", "X".repeat(300), "\xe9", "GET / HTTP/1.1\r\nX:"],
];
const VERSIONS = [
  "HTTP/1.0",
  "HTTP/1.1",
  "HTTP/2.0",
  "HTTP/0.9",
  "HTTP/1.9",
  "http/1.1",
  "HTTP/1.1 ",
  "",
  "HTTP/9999999999.1",
];
const TARGETS = [
  ...[
    "*",
    "/",
    "//",
    "///x",
    "/?",
    "?",
    "",
    "x",
    "/#",
    "/%",
    "/%zz",
    "/%ff%fe",
    "/%00",
    "/..",
    "/../../outside.txt",
    "/%2e%2e/%2e%2e/",
  ],
  ...[
    "/..%2f..%2f",
    "/a\\b",
    "/\xe9",
    "/\t",
    "/a b",
    "http://evil.example/",
    "http://localhost/x",
    "https://u:p@localhost:1/x",
  ],
  ...["evil.example:443", "/healthz", "/readyz", "/metrics", "//evil.example/healthz", `/${"a".repeat(9000)}`],
  ...[`/?${"a=b&".repeat(3000)}`, "/__proto__", "/constructor", "/;a=b", "/\u007f", "/[::1]", "/{x}", '/"'],
];
const TAILS = [
  "?",
  "?%",
  "?a=%zz",
  "#x",
  "/",
  "//",
  "/..",
  "/%2f",
  "%00",
  "/.",
  ";x",
  "?a&a=1&a=2",
  "\xff",
  "?t=x",
  "/\\",
];
const VALUES = [
  ...[
    "",
    " ",
    "0",
    "-1",
    "1",
    "65536",
    "1e3",
    "0x10",
    "99999999999999999999",
    "NaN",
    "null",
    "*",
    ",",
    ",,",
    "a,b",
    "a;b=c",
    "\t",
  ],
  ...[
    "\xe9\xff",
    "a\0b",
    "é",
    "x".repeat(9000),
    "localhost",
    "evil.example",
    "127.0.0.1:1",
    "[::1]:80",
    "[::1",
    "[]",
    "a b",
  ],
  ...[
    "user@localhost",
    "localhost:99999",
    "localhost:",
    "..",
    "%00",
    "/",
    "__proto__",
    "constructor",
    "{}",
    "[",
    '"',
    "'",
  ],
  ...[
    "Bearer",
    "Bearer ",
    "Basic OjE=",
    "bytes=0-",
    "bytes=-1",
    "bytes=9-1",
    "bytes=0-0,1-1",
    "close",
    "keep-alive",
    "upgrade",
  ],
  ...[
    "close, x-sandbox-id",
    "websocket",
    "h2c",
    "chunked",
    "gzip, chunked",
    "100-continue",
    "identity",
    "text/html;charset",
  ],
];
const NAMES = [
  ...[
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Upgrade",
    "Expect",
    "X-Forwarded-For",
    "Origin",
    "",
  ],
  ...[
    "A B",
    "A\0",
    "\xe9",
    "__proto__",
    "constructor",
    "X".repeat(9000),
    "Content-Length ",
    " X",
    "X:Y",
    "TE",
    "Trailer",
  ],
];
const FIELDS: readonly [string, string][] = [
  ...[["Host", "evil.example"], ["Host", ""], ["Host", "127.0.0.1"], ["Host", "a@b"], ["Host", "[::ffff:127.0.0.1]"]],
  ...[["Content-Length", "0"], ["Content-Length", "5"], ["Content-Length", "-5"], ["Content-Length", "5, 5"]],
  ...[["Content-Length", "99999999999999999999"], ["Transfer-Encoding", "chunked"], ["Transfer-Encoding", "gzip"]],
  ...[["Transfer-Encoding", "chunked, chunked"], ["Expect", "100-continue"], ["Expect", "more"], ["TE", "trailers"]],
  ...[["Connection", "close"], ["Connection", "Upgrade"], ["Connection", "host, content-length"], ["Upgrade", "h2c"]],
  ...[["Upgrade", "websocket"], ["Upgrade", "x/1, websocket"], ["HTTP2-Settings", "AAMAAABk"], [
    "Keep-Alive",
    "timeout=x",
  ]],
  ...[["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="], ["Sec-WebSocket-Key", "x"], ["Sec-WebSocket-Version", "99"]],
  ...[["Sec-WebSocket-Protocol", ",,"], ["Sec-WebSocket-Extensions", "permessage-deflate; x=\xff"], ["Origin", "null"]],
  ...[["Origin", "https://evil.example"], ["Origin", "http://["], ["X-Forwarded-For", "a, b"], [
    "X-Forwarded-Host",
    "x y",
  ]],
  ...[["Forwarded", "for=x"], ["X-Forwarded-Proto", "\xff"], ["Range", "bytes=0-18446744073709551616"], ["Range", "x"]],
  ...[["If-None-Match", "*"], ["If-Modified-Since", "x"], ["Accept", "\xff"], ["Accept-Encoding", "gzip;q=x"]],
  ...[["Content-Type", "multipart/form-data"], ["Content-Type", "multipart/form-data; boundary="], [
    "Content-Type",
    "\xff",
  ]],
  ...[["Content-Type", "application/json; charset=utf-99"], ["Content-Encoding", "gzip"], ["Cookie", "=;=; a"]],
  ...[["traceparent", "00-0-0-00"], ["traceparent", "ff-\xff"], ["Connect-Protocol-Version", "9"], [
    "Connect-Timeout-Ms",
    "1e9",
  ]],
  ...[["Grpc-Timeout", "9X"], ["Trailer", "Content-Length"], ["Proxy-Connection", "x"], ["Via", "1.1 x"], [
    "__proto__",
    "x",
  ]],
] as [string, string][];
const BODIES = [
  ...["", "{", "[]", "null", "7", '""', "{}", '{"__proto__":{}}', "\0".repeat(50), "\xff\xfe", "x".repeat(70_000)],
  ...["[".repeat(20_000), '{"a":'.repeat(3000), "--\r\n\r\n", "--B\r\nContent-Disposition: form-data\r\n\r\n--B--"],
  ...[
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(3),
    "\0\0\0\0\x05hello",
    "\x01\xff\xff\xff\xffx",
    "\x02\0\0\0\x02{}",
  ],
];
const CHUNKED = [
  ...[
    "{BODY}0\r\n\r\n",
    "{BODY}0\r\nX: y\r\n\r\n",
    "{BODY}",
    "0\r\n\r\n",
    "{BODY}0\r\nContent-Length: 5\r\n\r\n",
    "-1\r\n\r\n",
  ],
  ...[
    "{BODY}fffffffffffffffff\r\nx",
    "{BODY}5;a=b\r\nhello\r\n0\r\n\r\n",
    "5\r\nhell\r\n0\r\n\r\n",
    "\r\n",
    "{BODY}0\n\n",
    "0x1\r\na\r\n0\r\n\r\n",
  ],
  `5;${"x".repeat(20_000)}\r\nhello\r\n0\r\n\r\n`,
];
