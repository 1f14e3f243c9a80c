/** HTTP requests as they are sent, and changes that know their structure: drawn by fast-check, applied to a copy. @module */
import { Buffer } from "node:buffer";
import fc from "../properties.ts";
import type { Entry } from "./corpus.ts";
import { BODIES, CHUNKED, FIELDS, METHODS, NAMES, TAILS, TARGETS, VALUES, VERSIONS } from "./hostilewords.ts";

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

/** Fields that may carry a token, besides the query. */
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
      // In a third of the cases, the message has both framings at once.
      if (other % 3 > 0) message.fields = fields.filter(([name]) => name.toLowerCase() !== "content-length");
    },
  };
  ways[how]!();
}

function pick<T>(list: readonly T[], at: number): T {
  return list[at % list.length]!;
}
