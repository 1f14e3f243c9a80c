/** Parses the address on which the MCP server listens. @module */
import { isIPv6 } from "node:net";
import { isLoopback } from "../../../process/hosts.ts";

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
