/**
 * Finds out from the kubelet's message why an image cannot be pulled: a wrong name, missing access, or an unreachable
 * registry. @module
 */
import type { Code } from "../catalogue.ts";
import { type Container, containersOf, eventEvidence, eventsOf, type PodScene, waitingEvidence } from "../scene.ts";
import { findCondition } from "../../objects/conditions.ts";
import { type Cause, cause } from "../finding.ts";
import { change } from "../remedy.ts";

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
