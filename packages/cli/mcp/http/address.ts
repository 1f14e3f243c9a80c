/** Where the server listens, and which machines that lets in. Pure. @module */
import { isIPv6 } from "node:net";
import { isLoopback } from "../../../process/hosts.ts";

/** A host and a port. */
export interface Address {
  host: string;
  /** 0: any that is free. */
  port: number;
  /** Only programs of this machine reach it. */
  isLoopback: boolean;
}

const WITH_HOST = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/;

/** Reads `HOST:PORT`, or a port of loopback. @throws {RangeError} if it is neither */
export function parseAddress(text: string): Address {
  const [, written = "127.0.0.1", digits = ""] = WITH_HOST.exec(/^\d+$/.test(text) ? `127.0.0.1:${text}` : text) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65_535) throw new RangeError(`Cannot listen on "${text}": it is not HOST:PORT`);
  // What a machine calls localhost need not be loopback.
  const host = written.toLowerCase() === "localhost" ? "127.0.0.1" : written.replace(/^\[|\]$/g, "");
  return { host, port, isLoopback: isLoopback(host) };
}

/** Writes `host:port` as URLs have it. */
export function hostPort(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
