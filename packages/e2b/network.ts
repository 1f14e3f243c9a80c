/**
 * Converts what E2B's clients want a sandbox to reach to a list of the egress proxy, in an annotation of the claim. A
 * claim can only narrow what its template allows; everything else is refused by name. Pure.
 * @module
 */
import * as z from "zod";
import { faultsOfRules } from "../api/egress/faults.ts";
import { readAllowed } from "../api/egress/policy.ts";
import { EGRESS_ALLOW_ANNOTATION, EGRESS_HEADERS_ANNOTATION } from "../api/objects/keys.ts";
import { Problem } from "./problem.ts";
import type { Template } from "./templates.ts";

/** A field of E2B's that hookbox has nothing for. An empty one asks for nothing. */
const unserved = (why: string) =>
  z.unknown().refine((value) => value === undefined || value === null || isEmpty(value), { error: why }).optional();

const isEmpty = (value: unknown) => typeof value === "object" && Object.keys(value ?? {}).length === 0;

const EGRESS = {
  allowOut: z.array(z.string()).nullish(),
  denyOut: z.array(z.string()).nullish(),
  rules: unserved(
    "is not supported: headers for requests are in annotations of the template (docs/howto/egress-proxy.md)",
  ),
  egressProxy: unserved("is not supported: hookbox has its own egress proxy (docs/howto/egress-proxy.md)"),
  dnsServers: unserved("is not supported: the template's dnsConfig decides"),
};

/** The field `network` of a creation. */
export const networkSchema = z.strictObject({
  ...EGRESS,
  allowPublicTraffic: z.boolean().nullish(),
  maskRequestHost: unserved("is not supported: the router's option --upstream-host decides"),
  httpsPorts: unserved("is not supported: programs in a sandbox are reached over HTTP"),
});

/** Body of a change. A field that is absent is cleared. */
export const changedNetworkSchema = z.strictObject({ ...EGRESS, allow_internet_access: z.boolean().nullish() });

/** The fields that decide what a sandbox reaches. */
interface Egress {
  allowOut?: string[] | null | undefined;
  denyOut?: string[] | null | undefined;
}

/** Everything, in IPv4 and IPv6. Both mean everything: hookbox resolves no names to addresses of one kind alone. */
const EVERYTHING = ["0.0.0.0/0", "::/0"];
const isEverything = (entry: string) => EVERYTHING.includes(entry.trim());

/**
 * Returns the only places that the sandbox may reach; undefined: all that its template allows.
 *
 * @param hasInternet `allow_internet_access`; only false restricts
 * @throws {Problem} 400 if hookbox cannot enforce what is asked for
 */
export function reachOf(
  { allowOut, denyOut }: Egress,
  hasInternet: boolean | null | undefined,
  prefix = "network.",
): string[] | undefined {
  const [allowed, denied] = [allowOut ?? [], denyOut ?? []];
  const other = denied.find((entry) => !isEverything(entry));
  if (other !== undefined) {
    throw invalid(
      `${prefix}denyOut cannot contain "${other}": hookbox can only deny 0.0.0.0/0, and allow what allowOut lists`,
    );
  }
  if (hasInternet !== false && !denied.includes(EVERYTHING[0] as string)) {
    if (denied.length > 0) throw invalid(`${prefix}denyOut needs 0.0.0.0/0`);
    if (allowed.length === 0) return undefined;
    throw invalid(`${prefix}allowOut restricts nothing without denyOut: add 0.0.0.0/0 to ${prefix}denyOut`);
  }
  // E2B's rule: what is allowed wins over what is denied.
  if (allowed.some(isEverything)) return undefined;
  for (const entry of allowed) {
    const read = entry.trim() === "" || entry.includes(",") ? [] : readAllowed(entry);
    if (typeof read === "string" || read.length === 0) {
      throw invalid(`${prefix}allowOut has "${entry}", which is not a host name, *.DOMAIN, an address or a network`);
    }
  }
  return allowed.map((entry) => entry.trim());
}

/** @throws {Problem} 400 if nothing would enforce the list, or the template does not allow an entry of it */
export function checkReach(
  reach: string[] | undefined,
  { id, annotations }: Pick<Template, "id" | "annotations">,
): void {
  if (reach === undefined) return;
  if (annotations[EGRESS_ALLOW_ANNOTATION] === undefined && annotations[EGRESS_HEADERS_ANNOTATION] === undefined) {
    throw invalid(
      `network and allow_internet_access need a template with the annotation ${EGRESS_ALLOW_ANNOTATION}, and "${id}" has ` +
        "none: docs/howto/egress-proxy.md describes it",
    );
  }
  const owner = { ref: { kind: "SandboxTemplate", name: id }, annotations };
  const claim = { ref: { kind: "SandboxClaim", name: "" }, annotations: annotationOf(reach) as Record<string, string> };
  // Nobody needs to read Secrets to narrow a list.
  const [fault] = faultsOfRules(owner, claim, () => undefined);
  if (fault) throw invalid(`network.allowOut: ${fault.text}`);
}

/** Returns the annotation of the claim; null: none, in a merge patch. */
export function annotationOf(reach: string[] | undefined): Record<string, string | null> {
  return { [EGRESS_ALLOW_ANNOTATION]: reach?.join(", ") ?? null };
}

/** Reads the annotation of a claim. */
export function reachIn(annotations: Record<string, string>): string[] | undefined {
  return annotations[EGRESS_ALLOW_ANNOTATION]?.split(",").map((entry) => entry.trim()).filter((entry) => entry !== "");
}

function invalid(message: string): Problem {
  return new Problem(400, `Request is not valid: ${message}`);
}
