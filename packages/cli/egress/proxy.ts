/** Finds out whether the egress proxy of a namespace runs, and whether a sandbox has its address. @module */
import type { V1PodSpec } from "@kubernetes/client-node";
import { type Cause, cause, named, type ObjectRef } from "../../api/diagnosis/finding.ts";
import { EGRESS_PROXY, EGRESS_PROXY_ADDRESS, takesAddress } from "../../api/egress/podsettings.ts";
import type { KubeObject } from "../../api/objects/objects.ts";

/** Reads an object of one namespace by its path; `null`: it does not exist; undefined: it could not be read. */
export type ReadObject = (path: string) => Promise<KubeObject | null | undefined>;

interface Pod extends KubeObject {
  spec: V1PodSpec;
  status?: { containerStatuses?: { state?: { running?: { startedAt?: string } } }[] };
}

/**
 * Returns why sandboxes with rules reach nothing; undefined: no reason is known.
 *
 * @param subject whose name the summary has
 * @param pod the Pod of a sandbox; undefined: none
 */
export async function proxyCause(
  read: ReadObject,
  namespace: string,
  subject: ObjectRef,
  pod: KubeObject | null | undefined,
): Promise<Cause | undefined> {
  const [deployment, service] = await Promise.all([
    read(`/apis/apps/v1/namespaces/${namespace}/deployments/${EGRESS_PROXY}`),
    read(`/api/v1/namespaces/${namespace}/services/${EGRESS_PROXY}`),
  ]);
  const problem = problemOf("Deployment", deployment) ?? problemOf("Service", service);
  if (problem) {
    const { kind, where, text } = problem;
    const object = { kind, namespace, name: EGRESS_PROXY };
    return cause("EgressProxyNotReady", {
      object,
      summary: `${named(subject)} has rules for the egress proxy, but ${named(object)} ${text}, so no host is reached.`,
      evidence: [{ object, where, text }],
    });
  }
  return pod && service ? addressCause(pod as Pod, service, subject) : undefined;
}

function problemOf(kind: string, object: KubeObject | null | undefined) {
  if (object === null) return { kind, where: "metadata.name", text: "does not exist" };
  const { readyReplicas = 0 } = (object?.["status"] ?? {}) as { readyReplicas?: number };
  if (!object || kind !== "Deployment" || readyReplicas > 0) return undefined;
  return { kind, where: "status.readyReplicas", text: "has no Pod that is Ready" };
}

/** A container has the address of a Service that existed when the container started. */
function addressCause(pod: Pod, service: KubeObject, subject: ObjectRef): Cause | undefined {
  const { namespace, name } = pod.metadata;
  const object: ObjectRef = { kind: "Pod", ...(namespace === undefined ? {} : { namespace }), name };
  if (!takesAddress(pod.spec)) return undefined;
  const summary = `${
    named(subject)
  } does not reach the egress proxy, because its Pod does not have the proxy's address`;
  if (pod.spec.enableServiceLinks === false) {
    return cause("EgressAddressMissing", {
      object,
      summary: `${summary}: enableServiceLinks is false.`,
      evidence: [{
        object,
        where: "spec.enableServiceLinks",
        text: "false, so no container gets addresses of Services",
      }],
      remedy:
        `Remove enableServiceLinks from the template, or set ${EGRESS_PROXY_ADDRESS} in it, before the other variables.`,
    });
  }
  const made = Date.parse(service.metadata.creationTimestamp ?? "");
  const started = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => state?.running?.startedAt ?? []);
  const early = started.find((time) => Date.parse(time) < made);
  if (early === undefined) return undefined;
  return cause("EgressAddressMissing", {
    object,
    summary: `${summary}: it started before Service ${EGRESS_PROXY} was created.`,
    evidence: [
      { object, where: "status.containerStatuses", text: `a container started at ${early}` },
      {
        object: { kind: "Service", ...(namespace === undefined ? {} : { namespace }), name: EGRESS_PROXY },
        where: "metadata.creationTimestamp",
        text: String(service.metadata.creationTimestamp),
      },
    ],
  });
}
