/** Tells native gRPC from gRPC-Web, and converts trailers, media types and refusals between them. Pure. @module */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { isHttp2 } from "./versions.ts";

/** Source: gRPC over HTTP/2, and PROTOCOL-WEB in grpc/grpc. `type`: the end of the media type, such as `+proto`. */
export type GrpcForm = { kind: "native" } | { kind: "web"; isText: boolean; type: string };

const WEB = /^application\/grpc-web(-text)?((?:\+[!-:<-~]+)?)(?:\s*;.*)?$/i;
const NATIVE = /^application\/grpc(?:[+;].*)?$/i;

/** Returns the form of a gRPC request; undefined: it is not gRPC. */
export function grpcFormOf(request: IncomingMessage): GrpcForm | undefined {
  if (request.method !== "POST") return undefined;
  const media = request.headers["content-type"] ?? "";
  if (!media.startsWith("application/grpc")) return undefined;
  // Native gRPC sends its status after the body, which HTTP/1.1 does not reliably support.
  if (NATIVE.test(media)) return isHttp2(request) ? { kind: "native" } : undefined;
  const [found, text, type = ""] = WEB.exec(media) ?? [];
  return found === undefined ? undefined : { kind: "web", isText: text !== undefined, type: type.toLowerCase() };
}

/** Returns the media type of an answer for a browser. @param media the sandbox's media type */
export function webTypeOf(media: string, isText: boolean): string {
  return media.replace(/^application\/grpc/i, `application/grpc-web${isText ? "-text" : ""}`);
}

/** Returns the trailers as the last frame of a body. @param trailers names and values in turn */
export function trailerFrame(trailers: readonly string[]): Buffer {
  let text = "";
  for (let i = 0; i + 1 < trailers.length; i += 2) text += `${trailers[i]?.toLowerCase()}: ${trailers[i + 1]}\r\n`;
  const body = Buffer.from(text, "latin1");
  const head = Buffer.alloc(5);
  head[0] = 0x80;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** Creates a decoder for base64 that arrives in chunks, each of which may end with padding. */
export function createBase64Decoder(): (chunk: Buffer) => Buffer {
  let rest = "";
  return (chunk) => {
    const text = rest + chunk.toString("latin1").replaceAll(/[\r\n]/g, "");
    const whole = text.length - text.length % 4;
    rest = text.slice(whole);
    const parts = text.slice(0, whole).match(/[^=]+={0,2}/g) ?? [];
    return Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
  };
}

/**
 * gRPC status codes for HTTP status codes. Source: gRPC's doc/http-grpc-status-mapping.md, with more codes of the
 * router.
 */
const CODES: Record<number, number> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  413: 8,
  429: 8,
  499: 1,
  500: 13,
  501: 12,
  504: 4,
};

/** Returns the headers of a refusal for gRPC; they are the whole answer. */
export function grpcRefusal(status: number, detail: string): Record<string, string> {
  const message = Array.from(
    Buffer.from(detail),
    (byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
  return { "content-type": "application/grpc", "grpc-status": String(CODES[status] ?? 14), "grpc-message": message };
}
