/** Computes the name hash of Agent Sandbox and the name of a Sandbox's Pod, and checks names as the API server does. @module */
import { POD_NAME_ANNOTATION } from "./keys.ts";
import type { ObjectMeta } from "./objects.ts";

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_LABEL_MAX = 63;
const DNS_SUBDOMAIN_MAX = 253;

/**
 * Returns FNV-1a (32 bits) of the UTF-8 bytes as exactly 8 lower-case hex digits.
 * Source: Agent Sandbox API, section 2.1 (NameHash).
 */
export function nameHash(name: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Tells whether `name` is a DNS label (RFC 1123): at most 63 characters, no dots. */
export function isDNSLabel(name: string): boolean {
  return name.length <= DNS_LABEL_MAX && DNS_LABEL.test(name);
}

/** Tells whether `name` is a DNS subdomain (RFC 1123): at most 253 characters, labels of any length joined by dots. */
export function isDNSSubdomain(name: string): boolean {
  return name.length <= DNS_SUBDOMAIN_MAX && name.split(".").every((label) => DNS_LABEL.test(label));
}

/**
 * Returns the name of the Pod that the Sandbox has or will have: the Sandbox's own name, or the name of a Pod that
 * another controller recorded in an annotation. Source: Agent Sandbox API, section 2.4.
 */
export function podNameOf({ metadata }: { metadata: ObjectMeta }): string {
  const noted = metadata.annotations?.[POD_NAME_ANNOTATION];
  return noted !== undefined && isDNSSubdomain(noted) ? noted : metadata.name;
}

/** Tells whether the Sandbox's Pod has another name than the Sandbox. */
export function hasOtherPod(sandbox: { metadata: ObjectMeta }): boolean {
  return podNameOf(sandbox) !== sandbox.metadata.name;
}
