/** The Pod of a Sandbox: made once from the template, and kept as it is but for labels and annotations. @module */
import type { V1PodSpec } from "@kubernetes/client-node";
import type { Sandbox } from "../../api/sandbox.ts";
import type { DesiredObject } from "../../lib/objects.ts";
import type { Pod } from "../../lib/pods.ts";
import { unchangedSpec } from "../../lib/unchanged.ts";
import { podAnnotations, podLabels } from "./podmetadata.ts";
import { claimTemplates, pvcName, volumeName } from "./pvcs.ts";
import { withInheritance } from "./takeover.ts";

/**
 * Builds the Pod that does not exist yet: named like the Sandbox, the template's spec, and a volume for each volume
 * claim template in place of a template volume of that name. Source: Agent Sandbox API, section 2.3.
 */
export function buildPod(sandbox: Sandbox): DesiredObject<"Pod", V1PodSpec> {
  return { ...podIdentity(sandbox, sandbox.metadata.name), spec: podSpec(sandbox) };
}

/**
 * Returns the Pod that exists with the metadata it should have. Its spec is answered in the words that leave it
 * untouched: a live Pod's spec is never changed, whatever the template says now.
 */
export function keepPod(sandbox: Sandbox, pod: Pod): DesiredObject<"Pod"> {
  const wanted = podIdentity(sandbox, pod.metadata.name);
  return { ...wanted, metadata: withInheritance(wanted.metadata, pod), ...unchangedSpec(pod) };
}

function podIdentity(sandbox: Sandbox, name: string): Omit<DesiredObject<"Pod">, "spec"> {
  const annotations = podAnnotations(sandbox);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      labels: podLabels(sandbox),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
  };
}

function podSpec(sandbox: Sandbox): V1PodSpec {
  const { spec } = sandbox.spec.podTemplate;
  const templates = claimTemplates(sandbox);
  if (templates.length === 0) return spec;
  const claimed = new Set(templates.map(volumeName));
  return {
    ...spec,
    volumes: [
      ...(spec.volumes ?? []).filter((volume) => !claimed.has(volume.name)),
      ...templates.map((template) => ({
        name: volumeName(template),
        persistentVolumeClaim: { claimName: pvcName(template, sandbox) },
      })),
    ],
  };
}
