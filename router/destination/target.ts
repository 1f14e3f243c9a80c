/** Which port of which sandbox a request is for, and the rules for its parts. Pure. @module */
import { isDNSLabel } from "../../lib/names.ts";
import type { Refusal } from "../refusal.ts";

/** What a request names. `uid` and `podIP` must fit what is known of the sandbox. */
export interface Target {
  namespace: string;
  name: string;
  port: number;
  uid?: string;
  /** An address as the client gave it, in its canonical form. */
  podIP?: string;
  /** The request is not worth waking a suspended sandbox for. */
  wakes?: false;
}

export const DEFAULT_NAMESPACE = "default";
export const DEFAULT_PORT = 8888;

const PORT = /^[0-9]{1,5}$/;

/**
 * Checks the parts that every way of naming a sandbox has; an empty text counts as absent.
 *
 * Source: Agent Sandbox API, section 7.1, with its texts.
 */
export function checkedTarget(namespace: string, name: string, port: string): Target | Refusal {
  if (!isDNSLabel(name)) return badRequest("Invalid sandbox ID format.");
  if (namespace !== "" && !isDNSLabel(namespace)) return badRequest("Invalid namespace format.");
  const number = port === "" ? DEFAULT_PORT : PORT.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) return badRequest("Invalid port format.");
  return { namespace: namespace || DEFAULT_NAMESPACE, name, port: number };
}

/** Refuses what cannot be understood. */
export function badRequest(detail: string): Refusal {
  return { status: 400, detail };
}
