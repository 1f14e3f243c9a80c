/** Images that do not arrive: by the kubelet's words it is the name, the registry's refusal, or the way there. @module */
import type { Code } from "../catalogue.ts";
import { type Container, containersOf, waitingEvidence } from "../containers.ts";
import { findCondition } from "../../lib/conditions.ts";
import { type Cause, cause } from "../finding.ts";
import { change } from "../remedy.ts";
import { eventEvidence, eventsOf, type PodScene } from "../scene.ts";

const PULLING = ["ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable"];

/** What registries and containerd say, the first that fits; a refusal may also mean that there is no such repository. */
const WORDS: [Code, RegExp][] = [
  ["ImageUnauthorized", /unauthorized|authorization failed|access denied|no basic auth|403 Forbidden|401/i],
  ["ImageNotFound", /: not found|manifest unknown|NotFound|404|name unknown|repository does not exist/i],
];

/** A container waits for its image. */
export function image(scene: PodScene): Cause | undefined {
  for (const container of containersOf(scene)) {
    const found = imageCause(scene, container);
    if (found) return found;
  }
  return undefined;
}

/** Tells what the kubelet's words about a pull mean. */
export function imageCode(words: string): Code {
  return WORDS.find(([, pattern]) => pattern.test(words))?.[0] ?? "ImagePullFailed";
}

function imageCause(scene: PodScene, container: Container): Cause | undefined {
  const { podRef, pod } = scene;
  const { reason, title, field, status } = container;
  const name = status.image ?? "";
  const base = { object: podRef, evidence: [waitingEvidence(scene, container)], since: sinceOf(scene) };
  const correct = change(scene, "Correct", `${field}.image`);
  if (reason === "InvalidImageName") {
    return cause("InvalidImageName", {
      ...base,
      summary: `"${name}", of ${title}, is no image name.`,
      remedy: correct,
    });
  }
  if (reason === "ErrImageNeverPull") {
    const summary = `The node does not have the image "${name}" of ${title}, whose imagePullPolicy is Never.`;
    return cause("ImageNotPresent", { ...base, summary, remedy: change(scene, "Change", `${field}.imagePullPolicy`) });
  }
  if (!PULLING.includes(reason)) return undefined;
  const failed = eventsOf(scene.facts, podRef, pod.metadata.uid)
    .find(({ reason, message }) => reason === "Failed" && message.includes("ailed to pull"));
  const before = findCondition(scene.sandbox.status?.conditions, "ContainersFailing")?.message ?? "";
  const words = [container.message, failed?.message ?? "", before].join("\n");
  const code = imageCode(words);
  const evidence = [...base.evidence, ...(failed ? [eventEvidence(failed)] : [])];
  switch (code) {
    case "ImageNotFound":
      return cause(code, {
        ...base,
        evidence,
        summary: `The registry does not have the image "${name}" of ${title}.`,
        remedy: correct.replace("Correct", "Push the image, or correct"),
      });
    case "ImageUnauthorized":
      return cause(code, {
        ...base,
        evidence,
        summary: `The registry refuses the node the image "${name}" of ${title}.`,
        remedy: change(scene, "Name valid credentials in", "imagePullSecrets"),
      });
    default:
      return cause(code, {
        ...base,
        evidence,
        summary: `The image "${name}" of ${title} cannot be pulled: ${shortened(container.message || reason)}`,
        remedy: `See that nodes reach the registry, ${change(scene, "or correct", `${field}.image`)}`,
      });
  }
}

/** The registry's words come last, after those of everybody on the way. */
function shortened(message: string): string {
  const last = message.split(": ").slice(-2).join(": ");
  return last.length > 160 ? `${last.slice(0, 160)}…` : last;
}

function sinceOf({ pod, sandbox }: PodScene): string | undefined {
  return findCondition(sandbox.status?.conditions, "ContainersFailing")?.lastTransitionTime ??
    pod.status?.conditions?.find(({ type }) => type === "ContainersReady")?.lastTransitionTime;
}
