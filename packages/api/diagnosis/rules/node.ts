/** Finds out whether a Pod's node is not Ready, does not exist, or cannot set the Pod up. @module */
import { containersOf, eventEvidence, eventsOf, type PodScene } from "../scene.ts";
import { type Cause, cause, type ObjectRef } from "../finding.ts";

/** The Pod's node does not answer or does not exist. */
export function nodeNotReady({ pod, podRef, facts }: PodScene): Cause | undefined {
  const name = pod.spec?.nodeName;
  if (!name || !facts.nodes) return undefined;
  const object: ObjectRef = { kind: "Node", name };
  const node = facts.nodes.find(({ metadata }) => metadata.name === name);
  const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
  if (node && (!ready || ready.status === "True")) return undefined;
  return cause("NodeNotReady", {
    object,
    summary: `Node "${name}", where Pod "${podRef.name}" is, ${node ? "is not Ready" : "does not exist any more"}.`,
    evidence: [
      ready
        ? { object, where: "status.conditions[Ready]", text: `${ready.status}: ${ready.message ?? ""}` }
        : { object: podRef, where: "spec.nodeName", text: name },
    ],
    since: ready?.lastTransitionTime,
    remedy: `Fix the node (kubectl describe node ${name}), or delete the Pod: kubectl delete pod ${podRef.name} ` +
      `-n ${podRef.namespace} --force.`,
  });
}

/** The Sandbox's former Pod is terminating. A new one can be created only when it is gone. */
export function terminating(scene: PodScene): Cause | undefined {
  const { pod, podRef } = scene;
  const { deletionTimestamp: since } = pod.metadata;
  if (since === undefined) return undefined;
  const finalizers = (pod.metadata["finalizers"] as string[] | undefined) ?? [];
  const waits = finalizers.length > 0 ? `, and waits for the finalizers ${finalizers.join(", ")}` : "";
  return nodeNotReady(scene) ?? cause("PodTerminating", {
    object: podRef,
    summary: `The former Pod "${podRef.name}" is still terminating${waits}; another one follows.`,
    evidence: [{ object: podRef, where: "metadata.deletionTimestamp", text: since }],
    since,
  });
}

/**
 * The kubelet keeps a Pod's logs in a folder named `<namespace>_<name>_<UID>`. File systems allow names of this many
 * characters.
 */
const LONGEST_FOLDER = 255;

/** The node's network plugin or container runtime cannot set the Pod up, or the Pod's name is too long for a folder. */
export function podSandbox(scene: PodScene): Cause | undefined {
  const { pod, podRef, facts } = scene;
  const isRunning = containersOf(scene).some(({ status }) => status.state?.running);
  const event = eventsOf(facts, podRef, pod.metadata.uid).find(({ reason }) => reason === "FailedCreatePodSandBox");
  if (isRunning || !event) return undefined;
  const told = { object: podRef, evidence: [eventEvidence(event)], since: event.first };
  if (event.message.includes("file name too long")) return nameTooLong(scene, told);
  return cause("PodSandboxFailed", {
    ...told,
    summary: `The node cannot set up Pod "${podRef.name}": ${event.message}`,
  });
}

function nameTooLong(
  { pod, podRef }: PodScene,
  told: Pick<Cause, "object" | "evidence"> & { since: string | undefined },
) {
  const { namespace = "", uid = "" } = pod.metadata;
  const folder = [namespace, podRef.name, uid].join("_");
  return cause("PodNameTooLong", {
    ...told,
    summary: `The name of Pod "${podRef.name}" is too long for the node: the folder of its logs is named ` +
      `<namespace>_<name>_<UID>, which has ${folder.length} characters and may have ${LONGEST_FOLDER}.`,
  });
}
