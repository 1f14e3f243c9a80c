/** Answers that somebody tampered with: their first line, what comes before it, their fields, their trailers and their end. @module */
import fc from "../properties.ts";
import { changedMessage, type Message, type MessageChange, textOf } from "./messages.ts";
import { garbled, garbling, seldom } from "./texts.ts";

/** In the place of a version. */
const VERSIONS = ["HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "http/1.1", "ICY", "SSH-2.0", "", "HTTP/1.1\t"];
/** In the place of a status. */
const STATUSES = `
  100 101 102 103 199 200 201 204 205 206 226 300 304 399 401 407 408 417 418 421 426 499 500 505 511 599 600 999
  000 099 20 2000 -1 abc 2e2 0x1
`.trim().split(/\s+/);
/** In the place of a reason. */
const REASONS = [
  ...["", " ", "\t", "O\x01K", "\x7f", "\x1b[2J", "\xe9\xff", "OK\0", "OK\rX: y", "x".repeat(9000), "OK\n", "{detail}"],
  ...["%s", "\x80\x81", "\x0b\x0c"],
];
/** Come before an answer. */
const INFORMATION = [
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 102 Processing\r\nX: y\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\nSet-Cookie: pass=early\r\n\r\n",
  "HTTP/1.1 103 \x01\r\nLink: \xff\r\n\r\n",
  "HTTP/1.1 199 x\r\nContent-Length: 5\r\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n".repeat(200),
  "\r\n\r\n",
];
const COOKIES = [
  ...[
    "pass=x",
    " pass =x",
    "=pass=x",
    "pass",
    "pass;a=b",
    "PASS=x",
    "\tpass\t=x; Domain=d.example",
    "==pass",
    ";pass=x",
  ],
  ...["a=pass", "", "=", ";", `a${" ".repeat(5000)}b`, "__Host-pass=x", '"pass"=x', "pass\xa0=x", "a=1; b=2, pass=x"],
];
/** Fields of answers that HTTP/2 knows once only, or that concern one connection, or that mean something to browsers. */
const FIELDS: [string, string][] = [
  ...COOKIES.map((cookie): [string, string] => ["Set-Cookie", cookie]),
  ...["ETag", "Location", "Age", "Content-Type", "Content-Length", "Content-Range", "Last-Modified", "Retry-After"]
    .flatMap((name): [string, string][] => [[name, "1"], [name.toLowerCase(), "2"]]),
  ...["Access-Control-Allow-Credentials", "Date", "Server", "Vary", "WWW-Authenticate", "Proxy-Authenticate"]
    .map((name): [string, string] => [name, "x"]),
  ...[["Connection", "close, ETag, Content-Length, Set-Cookie"], ["Connection", "upgrade"], [
    "Keep-Alive",
    "timeout=0",
  ]],
  ...[["Upgrade", "h2c"], ["Upgrade", "websocket"], ["Transfer-Encoding", "chunked"], ["TE", "gzip"]],
  ...[["Transfer-Encoding", "identity"], ["Transfer-Encoding", "gzip, chunked"], ["Trailer", "X-Sum, Content-Length"]],
  ...[["HTTP2-Settings", "AAMAAABk"], ["Proxy-Connection", "close"], [":status", "200"], ["Host", "x"], [
    "Status",
    "1",
  ]],
  ...[["constructor", "x"], ["__proto__", "x"], ["toString", "x"], ["hasOwnProperty", "1"], ["Alt-Svc", "h2=x"]],
  ...[["X-Sandbox-Reason", "SandboxNotFound"], ["Server-Timing", "\xff"], ["X".repeat(300), "x"], [
    "X",
    "x".repeat(9000),
  ]],
] as [string, string][];
/** Behind a body in chunks. */
const TRAILERS = FIELDS.filter(([name]) => !name.startsWith(":")).map(([name, value]) => `${name}: ${value}\r\n`);

const HOWS = ["drop", "twin", "twin", "swap", "value", "name", "add", "body", "chunked"] as const;
const drawnNumber = fc.nat(100_000);

/** How a sandbox ends its connection, having answered: not at all, well, by a reset, or in the middle of the answer. */
export type Ending = "kept" | "ended" | "reset" | "halved";

/** One answer: which of the existing ones, and how it is changed. */
export const hostileAnswer = fc.record({
  at: drawnNumber,
  version: seldom(30, fc.constantFrom(...VERSIONS)),
  status: seldom(5, fc.constantFrom(...STATUSES)),
  reason: seldom(8, fc.constantFrom(...REASONS)),
  before: seldom(8, fc.constantFrom(...INFORMATION)),
  fields: fc.array(fc.constantFrom(...FIELDS), { maxLength: 2 }),
  trailers: fc.array(fc.constantFrom(...TRAILERS), { maxLength: 2 }),
  behind: seldom(15, fc.constantFrom("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmore", "x", "\0\0\0")),
  changes: fc.array(fc.record({ how: fc.constantFrom(...HOWS), at: drawnNumber, other: drawnNumber }), {
    maxLength: 1,
  }),
  garbling: seldom(25, garbling),
  ending: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom<Ending>("kept", "ended", "ended") },
    { weight: 1, arbitrary: fc.constantFrom<Ending>("reset", "halved") },
  ),
});

type Drawn = typeof hostileAnswer extends fc.Arbitrary<infer T> ? T : never;

/** Returns the answer as it is sent, each character a byte. Of its first line the message says version, status, reason. */
export function answerOf(message: Message, drawn: Drawn): string {
  const { version, status, reason, before = "", fields, trailers, behind = "", garbling: garbles } = drawn;
  const changed = changedMessage(message, drawn.changes as MessageChange[], []);
  const whole = textOf({
    method: version ?? changed.method,
    target: status ?? changed.target,
    version: reason ?? changed.version,
    fields: [...changed.fields, ...fields.map(([name, value]): [string, string] => [name, value])],
    body: changed.body.replace(/\r\n\r\n$/, `\r\n${trailers.join("")}\r\n`),
  });
  const text = `${before}${whole}${behind}`;
  return garbles ? garbled(text, garbles) : text;
}
