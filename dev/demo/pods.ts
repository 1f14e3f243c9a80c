/** Finds out from Pods why the demo waits: images that cannot be pulled, and Pods that fit no node. @module */
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { type Api, isOk, pathOf } from "../../packages/kube/api.ts";

interface Container {
  name: string;
  image: string;
  state?: { waiting?: { reason?: string; message?: string } };
}

/** The fields of a Pod that show why it does not run. */
export interface WaitingPod extends KubeObject {
  status?: {
    phase?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: Container[];
    containerStatuses?: Container[];
  };
}

/** An image that a node cannot pull. */
export interface PullProblem {
  pod: string;
  image: string;
  message: string;
}

/** Reasons with which the kubelet reports that it has no image. It retries after all but two of them. */
const PULL_REASONS = ["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"];

/** How long an image may be missing before the demo gives up, in milliseconds: a registry may be busy. */
const PATIENCE_MS = 20_000;

/** Returns the first image that cannot be pulled; undefined: there is none. */
export function pullProblemOf(pods: readonly WaitingPod[]): PullProblem | undefined {
  for (const { metadata: { namespace, name }, status } of pods) {
    for (const { image, state } of [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []]) {
      const { reason = "", message = "" } = state?.waiting ?? {};
      if (PULL_REASONS.includes(reason)) {
        return { pod: `${namespace}/${name}`, image, message: message === "" ? reason : `${reason}, ${message}` };
      }
    }
  }
  return undefined;
}

/** Returns a line for each Pod that does not run: why. */
export function reasonsOf(pods: readonly WaitingPod[]): string[] {
  return pods.flatMap(({ metadata: { namespace, name }, status }) => {
    const containers = [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []];
    const waiting = containers.map(({ state }) => state?.waiting).find((one) => one?.reason !== undefined);
    const unscheduled = status?.conditions?.find((one) => one.type === "PodScheduled" && one.status === "False");
    const why = waiting ?? unscheduled;
    if (why === undefined) return [];
    return [`Pod ${namespace}/${name}: ${[why.reason, why.message].filter(Boolean).join(", ")}`];
  });
}

/** Reads the Pods of namespaces; none of a namespace that cannot be read. */
export async function readPods(api: Api, namespaces: readonly string[]): Promise<WaitingPod[]> {
  const lists = await Promise.all(namespaces.map(async (namespace) => {
    const answer = await api.send({ method: "GET", path: pathOf({ resource: "pods", namespace }) });
    return isOk(answer) ? (answer.body as { items: WaitingPod[] }).items : [];
  }));
  return lists.flat();
}

/**
 * Returns a function that throws if the same image has been missing for a while.
 *
 * @param advise returns what to do about an image
 * @param now in milliseconds
 */
export function createPullCheck(
  read: () => Promise<readonly WaitingPod[]>,
  advise: (image: string) => string,
  now = () => performance.now(),
): () => Promise<void> {
  let since: { image: string; at: number } | undefined;
  return async () => {
    const problem = pullProblemOf(await read());
    if (problem === undefined || problem.image !== since?.image) {
      since = problem && { image: problem.image, at: now() };
      return;
    }
    if (now() - since.at < PATIENCE_MS) return;
    const { pod, image, message } = problem;
    throw new Error(`Cannot start Pod ${pod}: its node cannot pull ${image} (${message}). ${advise(image)}`);
  };
}
