/** Which children the API server would refuse for good, told from the spec alone: no request is wasted on them. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { Problem } from "../../api/unresolved.ts";
import { isDNSLabel, isDNSSubdomain } from "../../lib/names.ts";
import { claimTemplates, pvcName, volumeName } from "./pvcs.ts";

/**
 * Lists the children that can never be made from this spec, each with the API server's reason.
 *
 * | child | refused because |
 * |---|---|
 * | PersistentVolumeClaim | its name is no DNS subdomain |
 * | Pod | a volume's name (of a volume claim template) is no DNS label |
 * | Service | it is asked for and the Sandbox's name is no DNS label (too long, or dotted) |
 *
 * Other faults of a Pod spec are found by the keeper, which asks the API server.
 */
export function invalidChildren(sandbox: Sandbox): Problem[] {
  const { name } = sandbox.metadata;
  const templates = claimTemplates(sandbox);
  const pvcs = templates.map((template) => pvcName(template, sandbox)).filter((pvc) => !isDNSSubdomain(pvc));
  const volume = templates.map(volumeName).find((candidate) => !isDNSLabel(candidate));
  return [
    ...pvcs.map((pvc) => invalid("PersistentVolumeClaim", pvc, "metadata.name", pvc, SUBDOMAIN)),
    ...(volume === undefined ? [] : [invalid("Pod", name, "spec.volumes.name", volume, LABEL)]),
    ...(sandbox.spec.service === true && !isDNSLabel(name) ? [invalidService(name)] : []),
  ];
}

const SUBDOMAIN = "must be a lowercase RFC 1123 subdomain of no more than 253 characters";
const LABEL = "must be a lowercase RFC 1123 label of no more than 63 characters";

function invalidService(name: string): Problem {
  const rule = name.length > 63 ? "must be no more than 63 characters" : "must not contain dots";
  return invalid("Service", name, "metadata.name", name, rule);
}

/** Words the refusal as the API server does. */
function invalid(kind: Problem["kind"], name: string, field: string, value: string, rule: string): Problem {
  const message = `${kind} "${name}" is invalid: ${field}: Invalid value: "${value}": ${rule}`;
  return { kind, name, state: "invalid", message };
}
