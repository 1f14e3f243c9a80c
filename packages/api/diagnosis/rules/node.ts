/**
 * Finds out what a Pod's node cannot do: the node is not Ready or does not exist, cannot set the Pod up, or cannot pull
 * an image, because of a wrong name, missing access, or an unreachable registry. @module
 */
import { type Container, containersOf, eventEvidence, eventsOf, type PodScene, waitingEvidence } from "../scene.ts";
import { type Cause, cause, type ObjectRef } from "../finding.ts";
import type { Code } from "../catalogue.ts";
import { findCondition } from "../../objects/conditions.ts";
import { change } from "../remedy.ts";

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

const PULLING = ["ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable"];

/**
 * Messages of registries and containerd. The first pattern that matches decides. "Unauthorized" may also mean that
 * there is no such repository.
 */
const WORDS: [Code, RegExp][] = [
  // `(?<![:\d])`: the port of a registry may begin with the same digits.
  ["ImageUnauthorized", /unauthorized|authorization failed|access denied|no basic auth|403 Forbidden|(?<![:\d])401\b/i],
  ["ImageNotFound", /: not found|manifest unknown|NotFound|(?<![:\d])404\b|name unknown|repository does not exist/i],
];

/** A container waits for its image. */
export function image(scene: PodScene): Cause | undefined {
  for (const container of containersOf(scene)) {
    const found = imageCause(scene, container);
    if (found) return found;
  }
  return undefined;
}

/** Returns the code for the kubelet's message about a pull. */
export function imageCode(words: string): Code {
  return WORDS.find(([, pattern]) => pattern.test(words))?.[0] ?? "ImagePullFailed";
}

function imageCause(scene: PodScene, container: Container): Cause | undefined {
  const { reason, title, field, status: { image: name = "" } } = container;
  const base = { object: scene.podRef, evidence: [waitingEvidence(scene, container)], since: sinceOf(scene) };
  if (reason === "InvalidImageName") {
    const remedy = change(scene, "Correct", `${field}.image`);
    return cause("InvalidImageName", {
      ...base,
      summary: `"${name}", of ${title}, is not a valid image name.`,
      remedy,
    });
  }
  if (reason === "ErrImageNeverPull") {
    const summary = `The node does not have the image "${name}" of ${title}, whose imagePullPolicy is Never.`;
    return cause("ImageNotPresent", { ...base, summary, remedy: change(scene, "Change", `${field}.imagePullPolicy`) });
  }
  return PULLING.includes(reason) ? pullCause(scene, container, base) : undefined;
}

/**
 * The kubelet alternates between the registry's message and its own. Events and the Sandbox's condition still contain
 * the registry's.
 */
function pullCause(scene: PodScene, container: Container, base: Pick<Cause, "object" | "evidence">): Cause {
  const { message, reason, title, field, status: { image: name = "" } } = container;
  const failed = eventsOf(scene.facts, scene.podRef, scene.pod.metadata.uid)
    .find((event) => event.reason === "Failed" && event.message.includes("ailed to pull"));
  const before = findCondition(scene.sandbox.status?.conditions, "ContainersFailing")?.message ?? "";
  const told = { ...base, evidence: [...base.evidence, ...(failed ? [eventEvidence(failed)] : [])] };
  const code = imageCode([message, failed?.message ?? "", before].join("\n"));
  const image = `the image "${name}" of ${title}`;
  switch (code) {
    case "ImageNotFound":
      return cause(code, {
        ...told,
        summary: `The registry does not have ${image}.`,
        remedy: change(scene, "Push the image, or correct", `${field}.image`),
      });
    case "ImageUnauthorized":
      return cause(code, {
        ...told,
        summary:
          `The registry denied access to ${image}: credentials are missing or invalid, or there is no such image.`,
        remedy: change(scene, "Name valid credentials in", "imagePullSecrets"),
      });
    default:
      return cause(code, {
        ...told,
        summary: `T${image.slice(1)} cannot be pulled: ${shortened(message || failed?.message || reason)}`,
        remedy: `See that nodes reach the registry, ${change(scene, "or correct", `${field}.image`)}`,
      });
  }
}

/**
 * Returns the end of the message: the registry's words come last, after those of the kubelet and the container runtime.
 */
function shortened(message: string): string {
  const last = message.split(": ").slice(-2).join(": ");
  return last.length > 160 ? `${last.slice(0, 160)}…` : last;
}

function sinceOf({ pod, sandbox }: PodScene): string | undefined {
  return findCondition(sandbox.status?.conditions, "ContainersFailing")?.lastTransitionTime ??
    pod.status?.conditions?.find(({ type }) => type === "ContainersReady")?.lastTransitionTime;
}
