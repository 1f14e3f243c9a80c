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
  const volumes = templates.map(volumeName).filter((volume) => !isDNSLabel(volume));
  return [
    ...pvcs.map((pvc) => invalid("PersistentVolumeClaim", pvc, "metadata.name", pvc)),
    ...volumes.slice(0, 1).map((volume) => invalid("Pod", name, "spec.volumes.name", volume)),
    ...(sandbox.spec.service === true && !isDNSLabel(name) ? [invalid("Service", name, "metadata.name", name)] : []),
  ];
}

function invalid(kind: Problem["kind"], name: string, field: string, value: string): Problem {
  const limit = field === "metadata.name" && kind === "PersistentVolumeClaim"
    ? "must be a DNS subdomain of at most 253 characters"
    : "must be a DNS label: at most 63 lower-case letters, digits and hyphens";
  return { kind, name, state: "invalid", message: `${kind} "${name}" is invalid: ${field}: "${value}" ${limit}` };
}
